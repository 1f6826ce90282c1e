"""Which modules are mutated, and which tests are to notice: those of the module itself, by the mirror layout.

`auditor/statistics/gate.py` is tested by `tests/statistics/test_gate.py`; where tests stand elsewhere, or too, they are
listed here. Needs nothing but the standard library, so that the suite can check it without the `mutation` extra.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
SCOPE = (
    "algorithms",
    "auditor/case.py",
    "auditor/cli",
    "auditor/flow",
    "auditor/questions",
    "auditor/randomness.py",
    "auditor/repair/mechanisms",
    "auditor/sources",
    "auditor/statistics",
    "auditor/subjects",
    "auditor/values",
)
CONFORMANCE = "tests/algorithms/test_conformance.py"  # what every bundled subject satisfies
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "auditor": ("tests/test_structs.py",),
    "auditor/statistics/cost.py": ("tests/test_calibration.py",),
    "auditor/statistics/gate.py": ("tests/test_calibration.py",),
    "auditor/statistics/lattice.py": ("tests/test_calibration.py",),
    "auditor/statistics/threshold.py": ("tests/test_calibration.py",),
    "auditor/statistics/nu.py": ("tests/statistics/test_nu_bounds.py", "tests/questions/test_shares_of_searches.py"),
    # questions: a package has tests for all of its modules, and all have each question told once to the letter
    "auditor/questions": ("tests/questions/test_kept.py", "tests/questions/test_kept_words.py"),
    "auditor/questions/compare": (
        "tests/questions/test_shares_of_comparisons.py",
        "tests/questions/test_refusals.py",
        "tests/questions/test_compare.py",
    ),
    "auditor/questions/compare/versions.py": ("tests/questions/test_compare_versions.py",),
    "auditor/questions/curve": (
        "tests/questions/test_vary.py",
        "tests/questions/test_refusals.py",
        "tests/questions/test_shares_of_searches.py",
        "tests/questions/test_curve.py",
    ),
    "auditor/questions/explain": (
        "tests/questions/test_explain_outputs.py",
        "tests/questions/test_explain_reports.py",
        "tests/questions/test_shares_of_explanations.py",
        "tests/questions/test_explain.py",
        "tests/questions/test_explain_interpreter.py",
    ),
    "auditor/questions/hunt": (
        "tests/questions/test_shares_of_explanations.py",
        "tests/questions/test_hunt.py",
        "tests/questions/test_hunt_laws.py",
    ),
    "auditor/questions/list_size": (
        "tests/questions/test_shares_of_list_size.py",
        "tests/questions/test_refusals.py",
        "tests/questions/test_list_size.py",
    ),
    "auditor/questions/repair": (
        "tests/questions/test_shares_of_repairs.py",
        "tests/questions/test_frontier_of_repairs.py",
        "tests/questions/test_repair.py",
    ),
    "auditor/questions/nu": (
        "tests/questions/test_refusals.py",
        "tests/questions/test_shares.py",
        "tests/questions/test_shares_of_searches.py",
        "tests/questions/test_nu.py",
    ),
    "auditor/questions/price": (
        "tests/questions/test_refusals.py",
        "tests/questions/test_shares_of_searches.py",
        "tests/questions/test_price.py",
    ),
    "auditor/questions/reuse": (
        "tests/questions/test_refusals.py",
        "tests/questions/test_shares_of_searches.py",
        "tests/questions/test_reuse.py",
    ),
    "auditor/questions/counted.py": ("tests/questions/test_curve.py", "tests/questions/test_price.py"),
    "auditor/questions/integrated.py": ("tests/questions/test_shares_of_baselines.py",),
    "auditor/questions/loss.py": ("tests/questions/test_refusals.py", "tests/questions/test_shares.py"),
    "auditor/questions/no_worse.py": ("tests/questions/test_shares_of_baselines.py",),
    "auditor/questions/one_pair.py": ("tests/cli/test_replay.py", "tests/flow/test_run.py"),
    "auditor/questions/cells.py": (
        "tests/questions/test_refusals.py",
        "tests/questions/test_shares.py",
        "tests/questions/test_every.py",
        "tests/questions/test_private.py",
    ),
    "auditor/questions/pairs.py": (
        "tests/questions/test_shares.py",
        "tests/questions/test_every.py",
        "tests/flow/test_plan.py",
        "tests/questions/test_churn.py",
    ),
    "auditor/questions/varied.py": ("tests/questions/test_vary.py", "tests/questions/test_hunt.py"),
    "auditor/questions/reasons.py": (
        "tests/flow/test_plan.py",
        "tests/flow/test_edges.py",
        "tests/test_calibration.py",
    ),
    "auditor/questions/several.py": ("tests/questions/test_shares_of_baselines.py", "tests/flow/test_clock.py"),
    # flow
    "auditor/flow": ("tests/flow/test_edges.py",),
    "auditor/flow/fitness.py": ("tests/flow/test_constancy.py", "tests/flow/test_run.py"),
    "auditor/flow/ledger.py": (
        "tests/flow/test_ledger_seen.py",
        "tests/flow/test_ledger_plan.py",
        "tests/cli/test_history.py",
    ),
    "auditor/flow/ledger_file.py": (
        "tests/flow/test_ledger_seen.py",
        "tests/flow/test_record_in_python.py",
        "tests/flow/test_ledger.py",
    ),
    "auditor/flow/parts.py": ("tests/report/test_report_parts.py",),
    "auditor/flow/plan.py": ("tests/questions/test_refusals.py", "tests/questions/test_shares.py"),
    "auditor/flow/question.py": ("tests/flow/test_run.py", "tests/test_questions_of_others.py"),
    "auditor/flow/record.py": ("tests/flow/test_record_in_python.py", "tests/test_case.py"),
    "auditor/flow/run.py": (
        "tests/flow/test_clock.py",
        "tests/flow/test_ledger_seen.py",
        "tests/flow/test_run.py",
        "tests/flow/test_record_in_python.py",
    ),
    "auditor/flow/verdict.py": (
        "tests/flow/test_plan.py",
        "tests/questions/test_shares.py",
        "tests/test_calibration.py",
    ),
    # command line
    "auditor/cli": ("tests/cli/test_edges.py",),
    "auditor/cli/assertion.py": ("tests/cli/test_pytest_family.py",),
    "auditor/cli/baseline.py": ("tests/cli/test_baseline_fields.py",),
    "auditor/cli/commands": ("tests/cli/test_command_line.py",),
    "auditor/cli/commands/check.py": ("tests/cli/test_config.py",),
    "auditor/cli/commands/compare.py": ("tests/questions/test_compare.py",),
    "auditor/cli/commands/gate.py": ("tests/cli/test_config.py", "tests/cli/test_baseline.py"),
    "auditor/cli/commands/history.py": ("tests/cli/test_history.py",),
    "auditor/cli/commands/page.py": ("tests/report/test_page.py",),
    "auditor/cli/commands/replay.py": ("tests/cli/test_replay.py", "tests/cli/test_trust.py"),
    "auditor/cli/commands/theorems.py": ("tests/questions/test_several.py",),
    "auditor/cli/options.py": ("tests/cli/test_completion.py", "tests/cli/test_command_line.py"),
    "auditor/cli/output.py": ("tests/report/test_reports_kept.py", "tests/cli/test_command_line.py"),
    "auditor/cli/prints.py": ("tests/report/test_reports_kept.py", "tests/cli/test_command_line.py"),
    "auditor/cli/pytest_plugin.py": ("tests/cli/test_pytest_family.py",),
    "auditor/cli/several.py": ("tests/questions/test_several.py", "tests/cli/test_config.py"),
    # sources
    "auditor/sources": ("tests/sources/test_edges.py",),
    "auditor/sources/datasets.py": ("tests/sources/test_tables.py", "tests/sources/test_table_files.py"),
    "auditor/sources/distribution.py": ("tests/sources/test_common_distributions.py", "tests/sources/test_sample.py"),
    "auditor/sources/law.py": ("tests/sources/test_counting.py", "tests/sources/test_source.py"),
    "auditor/sources/frames.py": ("tests/sources/test_table_files.py",),
    "auditor/sources/source.py": ("tests/sources/test_datasets.py", "tests/sources/test_frames.py"),
    "auditor/sources/tables.py": ("tests/sources/test_table_files.py",),
    # subjects
    "auditor/subjects": ("tests/subjects/test_edges.py",),
    "auditor/subjects/churn.py": ("tests/subjects/test_partition.py", "tests/questions/test_churn.py"),
    "auditor/subjects/inputs.py": ("tests/questions/test_every.py",),
    "auditor/subjects/estimators.py": ("tests/subjects/test_estimator_needs.py",),
    "auditor/subjects/signature.py": ("tests/subjects/test_subject.py", "tests/subjects/test_estimators.py"),
    "auditor/subjects/views": ("tests/subjects/test_views.py",),
    "auditor/subjects/views/partition.py": ("tests/subjects/test_partition.py",),
    "auditor/subjects/views/rounding.py": ("tests/subjects/test_rounding.py",),
    # values
    "auditor/values": (
        "tests/values/test_outcome.py",
        "tests/values/test_exact_values.py",
        "tests/values/test_closeness.py",
        "tests/values/test_library_values.py",
        "tests/values/test_arrays_of_others.py",
        "tests/subjects/test_edges.py",
    ),
    "auditor/repair/mechanisms": ("tests/repair/test_wrappers.py",),
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
    "algorithms/boosting.py": (
        "tests/algorithms/test_boosting_sizes.py",
        "tests/algorithms/test_boosting_on_counts.py",
    ),
    "algorithms/statistical_query.py": ("tests/algorithms/test_finishing.py",),
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
    "algorithms/twins/quantile.py": ("tests/algorithms/everyday/test_conformal.py",),
    "algorithms/generalisation.py": ("tests/algorithms/test_consequences.py",),
    "algorithms/twins": ("tests/algorithms/test_twins.py",),
    "algorithms/twins/median_as_published.py": ("tests/algorithms/test_median.py",),
    "algorithms/everyday/choice_laws.py": ("tests/algorithms/everyday/test_choice.py",),
    "algorithms/twins/clusters.py": ("tests/algorithms/everyday/test_clusters.py",),
    "algorithms/everyday/lattice_laws.py": (
        "tests/algorithms/everyday/test_identity_test.py",
        "tests/algorithms/everyday/test_chi_square_test.py",
    ),
}


def modules(places: tuple[str, ...] = ("",)) -> list[str]:
    """Return the modules in scope at or below these places, in order, but for packages that define no function."""
    everything = {path for place in SCOPE for path in [ROOT / place, *(ROOT / place).rglob("*.py")]}
    found = sorted(path for path in everything if path.suffix == ".py" and _defines_functions(path))
    paths = [path.relative_to(ROOT) for path in found]
    return [path.as_posix() for path in paths if any(path.is_relative_to(place) for place in places)]


def _defines_functions(path: Path) -> bool:
    return not path.name.startswith("__") or "def " in path.read_text()


def tests_of(module: str) -> list[str]:
    """Return the tests of a module: its mirror file first, then those listed for it, then those of its package."""
    path = Path(module)
    named = path.parent if path.stem == "__init__" else path.with_suffix("")
    rooms = named.parent.parts if path.parts[0] == "algorithms" else named.parent.parts[1:]
    mirror = Path("tests", *rooms, f"test_{named.name}.py").as_posix()
    found = [mirror] if (ROOT / mirror).exists() else []
    for place in (path, *path.parents):
        found += ELSEWHERE.get(place.as_posix(), ())
    return list(dict.fromkeys([*found, *([CONFORMANCE] if path.parts[0] == "algorithms" else [])]))
