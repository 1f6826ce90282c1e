"""Which modules are mutated, and which tests are to notice: those of the module itself, by the mirror layout.

`auditor/statistics/gate.py` is tested by `tests/statistics/test_gate.py`; where tests stand elsewhere, or too, they are
listed here. Needs nothing but the standard library, so that the suite can check it without the `mutation` extra.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
SCOPE = (
    "algorithms",
    "auditor/randomness.py",
    "auditor/repair/mechanisms",
    "auditor/statistics",
    "auditor/sources/counting.py",
    "auditor/sources/law.py",
    "auditor/subjects/outcome.py",
    "auditor/questions/nu/gate.py",
    "auditor/questions/lists/misses.py",
    "auditor/questions/reuse/transcripts.py",
)
DEFAULTS = "tests/algorithms/test_defaults.py"  # what each algorithm declares where nobody says otherwise
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "auditor/statistics/cost.py": ("tests/test_calibration.py",),
    "auditor/statistics/gate.py": ("tests/test_calibration.py",),
    "auditor/statistics/lattice.py": ("tests/test_calibration.py",),
    "auditor/statistics/threshold.py": ("tests/test_calibration.py",),
    "auditor/statistics/nu.py": ("tests/statistics/test_nu_bounds.py", "tests/questions/test_shares_of_searches.py"),
    "auditor/questions/nu/gate.py": ("tests/questions/test_nu.py", "tests/questions/test_shares.py"),
    "auditor/questions/lists/misses.py": ("tests/questions/test_lists.py",),
    "auditor/questions/reuse/transcripts.py": (
        "tests/questions/test_reuse.py",
        "tests/questions/test_shares_of_searches.py",
    ),
    "auditor/repair/mechanisms/foam.py": ("tests/algorithms/test_rounding.py",),
    "auditor/repair/mechanisms/call_sites.py": (
        "tests/repair/test_sites.py",
        "tests/trials/causes/test_keyed_sites.py",
    ),
    "auditor/repair/mechanisms/keyed_generators.py": ("tests/repair/test_sites.py",),
    "auditor/repair/mechanisms/own_frames.py": (
        "tests/repair/test_sites.py",
        "tests/trials/causes/test_keyed_sites.py",
    ),
    "auditor/repair/mechanisms/ballot.py": ("tests/repair/test_voting.py",),
    "auditor/repair/mechanisms/threshold.py": ("tests/repair/mechanisms/test_heavy.py",),
    "algorithms/boosting.py": (
        "tests/algorithms/test_boosting_sizes.py",
        "tests/algorithms/test_boosting_on_counts.py",
    ),
    "algorithms/heavy_hitters.py": ("tests/algorithms/test_declared.py",),
    "algorithms/median.py": ("tests/algorithms/test_declared.py",),
    "algorithms/point_mass.py": ("tests/algorithms/test_declared.py",),
    "algorithms/statistical_query.py": ("tests/algorithms/test_declared.py", "tests/algorithms/test_finishing.py"),
    "algorithms/coin_frontier.py": ("tests/algorithms/test_coin_sizes.py",),
    "algorithms/coin_problem.py": ("tests/algorithms/test_coin_sizes.py", "tests/algorithms/test_finishing.py"),
    "algorithms/halfspace.py": ("tests/algorithms/test_finishing.py",),
    "algorithms/everyday/mean_sizes.py": (
        "tests/algorithms/everyday/test_mean_vector.py",
        "tests/algorithms/everyday/test_mean_foams.py",
        "tests/algorithms/everyday/test_mean_heavy.py",
    ),
    "algorithms/everyday/mean_laws.py": (
        "tests/algorithms/everyday/test_mean_vector.py",
        "tests/algorithms/everyday/test_mean_heavy.py",
    ),
    "algorithms/data_reuse.py": ("tests/algorithms/test_consequences.py",),
    "algorithms/everyday/broken_quantile.py": (
        "tests/algorithms/everyday/test_quantile.py",
        "tests/algorithms/everyday/test_conformal.py",
    ),
    "algorithms/generalisation.py": ("tests/algorithms/test_consequences.py",),
    "algorithms/median_as_published.py": ("tests/algorithms/test_median.py",),
    "algorithms/everyday/choice_laws.py": ("tests/algorithms/everyday/test_choice.py",),
    "algorithms/everyday/broken_choice.py": ("tests/algorithms/everyday/test_choice.py",),
    "algorithms/everyday/broken_heavy_hitter.py": ("tests/algorithms/everyday/test_single_heavy_hitter.py",),
    "algorithms/everyday/broken_clusters.py": ("tests/algorithms/everyday/test_clusters.py",),
    "algorithms/everyday/identity_design.py": ("tests/algorithms/everyday/test_identity_test.py",),
    "algorithms/everyday/lattice_laws.py": (
        "tests/algorithms/everyday/test_identity_test.py",
        "tests/algorithms/everyday/test_chi_square_test.py",
    ),
}


def modules(places: tuple[str, ...] = ("",)) -> list[str]:
    """Those in scope at or below these places, in order; files that only hold names are left out."""
    everything = {path for place in SCOPE for path in [ROOT / place, *(ROOT / place).rglob("*.py")]}
    paths = sorted(
        path.relative_to(ROOT) for path in everything if path.suffix == ".py" and not path.name.startswith("__")
    )
    return [path.as_posix() for path in paths if any(path.is_relative_to(place) for place in places)]


def tests_of(module: str) -> list[str]:
    """The mirror file first: it is the quickest to notice."""
    path = Path(module)
    rooms = path.parent.parts if path.parts[0] == "algorithms" else path.parent.parts[1:]
    mirror = Path("tests", *rooms, f"test_{path.stem}.py").as_posix()
    found = [*([mirror] if (ROOT / mirror).exists() else []), *ELSEWHERE.get(module, ())]
    return [*found, *([DEFAULTS] if path.parts[0] == "algorithms" else [])]
