"""How reproducible is what people use? `nice python benchmarks/field.py [--scale 0.1] [--ledger FILE]`

Five tables: estimators of scikit-learn, xgboost, lightgbm and catboost with their default parameters, each on three
data sets; usual tests of statsmodels; the bundled decisions, plain and reproducible, on the files of examples/data;
every bundled subject at its own size, its claim beside its rho, the worst source that hunt finds, and what it costs;
and the settings in which rho is known exactly, beside what is measured. It writes reports/field.json, reports/field.md,
a page of the site, and reports/field.svg. What is not installed is left out.

Each row is an audit of a fixed number of pairs: `PAIRS` times `--scale`, at least 8, and 8 where one run takes longer
than `SLOW` seconds. One that takes longer than `SLOWEST` seconds is left out, and so is what cannot be audited; the
page names both with the reason. explain and repair are asked about the estimators that fail on the first data set of
their kind, if a run takes `QUICK` seconds at most. All M statements hold together with 95 % confidence, since each has
1 - 0.05 / M. What is finished is kept in the ledger, a line of JSON a row, and not run again. At scale 1 it takes well
under an hour of one processor; OMP_NUM_THREADS=1 keeps it to one.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import auditor
from auditor.errors import AuditorError
from auditor.lookup import registered_subjects
from auditor.subjects.subject import load_subject, parse_param
from auditor.trials.cell import make_bench

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "reports"
CONFIDENCE, TARGET = 0.95, 0.1
ANY = 0.9  # a target that few pairs decide: intervals are asked for here, and no verdicts
LEAST, PAIRS = 8, {"estimators": 10, "tests": 100, "decisions": 300, "own": 200}  # at the least, and at scale 1
MOST = 400  # pairs that repair may take
HUNTED = 128  # pairs of a search for the worst source, and as many to confirm it
QUICK, SLOW, SLOWEST = 0.004, 0.5, 4.0  # seconds of a run, of processor time
TABLES = {
    "estimators": "Estimators with their default parameters",
    "tests": "Usual tests of statsmodels at the level 0.05",
    "decisions": "Decisions from a table, plain and reproducible",
    "own": "Bundled subjects at their own sizes",
    "exact": "Where rho is known exactly",
}


class Asked(NamedTuple):
    """One row before it is run."""

    table: str
    subject: str
    source: str | None = None
    params: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it
    options: dict[str, Any] = {}  # noqa: RUF012
    first: bool = False  # of the data sets of its kind

    @property
    def key(self) -> str:
        return json.dumps([self.table, self.subject, self.source, self.params, self.options])


# What is asked: estimators.

IRIS, WINE, CANCER = "sklearn:load_iris", "sklearn:load_wine", "sklearn:load_breast_cancer"
# Numbers are compared by their distance: `scale`, about the deviation of the labels, counts as wholly different.
SETS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "classifier": [(name, {"view": "predict"}) for name in (IRIS, WINE, CANCER)],
    "regressor": [
        ("sklearn:make_friedman1(noise=1.0)", {"size": 100, "scale": 5.0, "view": "predict"}),
        ("sklearn:make_friedman2(noise=50.0)", {"size": 300, "scale": 380.0, "view": "predict"}),
        ("sklearn:load_diabetes", {"scale": 77.0, "view": "predict"}),
    ],
    "cluster": [(IRIS, {}), (WINE, {}), (CANCER, {})],
}
SUBJECTS = "benchmarks/field_subjects.py"
LINE: Any = (f"{SUBJECTS}:line", {"size": 100, "scale": 0.35, "view": "predict"})
LABELS: Any = (f"{SUBJECTS}:two_labels", {"size": 200, "view": "predict"})
SEVERAL: Any = ("sklearn:load_linnerud", {"scale": 10.0, "view": "predict"})
OTHER_ROWS = {  # what estimators of one feature, or of several labels, are asked about
    "IsotonicRegression": LINE,
    **dict.fromkeys(("ClassifierChain", "MultiOutputClassifier"), LABELS),
    **dict.fromkeys(("CCA", "PLSCanonical", "MultiOutputRegressor", "RegressorChain"), SEVERAL),
    **{f"MultiTask{name}": SEVERAL for name in ("ElasticNet", "ElasticNetCV", "Lasso", "LassoCV")},
}
PARTS = {"classifier": "sklearn.linear_model:LogisticRegression()", "regressor": "sklearn.linear_model:Ridge()"}
QUIET = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
ALSO: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "xgboost": [("XGBClassifier", {"n_jobs": 1}), ("XGBRegressor", {"n_jobs": 1})],
    "lightgbm": [("LGBMClassifier", {"n_jobs": 1, "verbose": -1}), ("LGBMRegressor", {"n_jobs": 1, "verbose": -1})],
    "catboost": [("CatBoostClassifier", QUIET), ("CatBoostRegressor", QUIET)],
}


def estimators() -> Iterator[Asked]:
    from sklearn.utils import all_estimators

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in SETS:
            for name, found in all_estimators(type_filter=kind):
                sets = [OTHER_ROWS[name]] if name in OTHER_ROWS else SETS[kind]
                yield from _on_each(f"{public_module(found)}:{name}", sets, parts_of(found, kind))
    for package, learners in ALSO.items():
        for name, params in learners if find_spec(package) else ():
            yield from _on_each(f"{package}:{name}", SETS["classifier" if "Class" in name else "regressor"], params)


def _on_each(target: str, sets: Sequence[tuple[str, dict[str, Any]]], params: dict[str, Any]) -> Iterator[Asked]:
    for place, (source, options) in enumerate(sets):
        yield Asked("estimators", target, source, params, options, first=place == 0)


def public_module(found: type) -> str:
    """Return the shortest module that has a class by its name."""
    parts = found.__module__.split(".")
    names = (".".join(parts[:end]) for end in range(2, len(parts) + 1))
    return next(name for name in names if getattr(importlib.import_module(name), found.__name__, None) is found)


def parts_of(found: type, kind: str) -> dict[str, Any]:
    """Return what an estimator that is made of others needs, as on the command line."""
    needed = [one.name for one in inspect.signature(found).parameters.values() if one.default is one.empty]
    needed += ["estimator"] if found.__name__ == "SelfTrainingClassifier" else []  # its default is none that works
    part = PARTS.get(kind, "")
    return {name: {"estimators": f"[('one', {part})]"}.get(name, part) for name in needed if name.startswith("estim")}


# Decisions, tests, and our own.

FILES = "examples/data"
LONG = {"by": "model", "score": "score", "unit": "item"}
ARMS = {"by": "version", "score": "spent", "a": "b", "b": "a", "test": "t"}
BOUGHT = {"by": "customer", "score": "amount"}
DECISIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("winner", "scores.csv", {}),
    ("ranking", "scores.csv", {}),
    ("top", "scores.csv", {"k": 2}),
    ("beats", "scores.csv", {"a": "ash", "b": "cedar"}),
    ("significant_columns", "scores.csv", {"against": "fir", "test": "t"}),
    ("winner", "judged.csv", LONG),
    ("judged_winner", "judged.csv", {}),
    ("winner", "visits.csv", {"by": "version", "score": "spent"}),
    ("beats", "visits.csv", ARMS),
    ("features", "customers.csv#left", {"k": 2}),
    ("features", "customers.csv#left", {"k": 3}),
    ("features", "customers.csv#left", {"k": 3, "method": "lasso"}),
    ("clusters", "customers.csv", {"without": "left"}),
    ("cluster_members", "customers.csv", {"without": "left", "k": 2}),
    ("cutoff", "customers.csv#left", {"score": "calls"}),
    ("changepoint", "customers.csv", {"time": "calls", "value": "complaints"}),
    ("trend", "customers.csv", {"time": "calls", "value": "complaints"}),
    ("group_report", "orders.csv", {**BOUGHT, "n": 3}),
    ("group_report", "orders.csv", {**BOUGHT, "n": 10}),
]
SISTERS = {"clusters": "r_cluster_count", "judged_winner": None}
WIDTHS = {"r_cluster_members": 2.0, "r_cutoff": 2.0, "r_changepoint": 2.0}  # in units of the data


def decisions() -> Iterator[Asked]:
    for name, file, params in DECISIONS:
        for one in (name, SISTERS.get(name, f"r_{name}")):
            if one:
                yield Asked("decisions", one, f"{FILES}/{file}", params if one == name else _known(one, params))


def _known(sister: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a sister has too."""
    settings = load_subject(sister, {}).settings
    width = {"width": WIDTHS[sister]} if sister in WIDTHS else {}
    return {name: value for name, value in params.items() if name in settings} | width


def tests() -> Iterator[Asked]:
    if find_spec("statsmodels"):
        names = [one.__name__ for one in _loaded(SUBJECTS).TESTS]
        yield from (Asked("tests", f"{SUBJECTS}:{name}") for name in names)


def own() -> Iterator[Asked]:
    yield from (Asked("own", name) for name in sorted(registered_subjects()))


def exact_cases() -> list[Any]:
    """Return the settings of the conformance table in which rho is known exactly."""
    folders = [str(ROOT / "tests"), str(ROOT / "tests" / "algorithms")]
    sys.path += [folder for folder in folders if folder not in sys.path]
    return importlib.import_module("conformance").EXACT


def exact() -> Iterator[Asked]:
    for place, case in enumerate(exact_cases()):
        source = case.source if isinstance(case.source, str) else getattr(case.source, "__name__", None)
        source = source or (None if case.source is None else "a table")
        yield Asked("exact", case.name, source, case.options.get("params", {}), {"case": place})


def _loaded(file: str) -> Any:
    """Return a module by its file: other files beside it have names of learners."""
    spec = spec_from_file_location(Path(file).stem, ROOT / file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def every_row() -> list[Asked]:
    return [*tests(), *decisions(), *own(), *exact(), *estimators()]  # what takes longest comes last


# The families of sources in which hunt looks for the worst; those of docs/make_hunt.py, and for the others:

THIRDS = "points([[1, 0, 0], [0, 1, 0], [0, 0, 1]], weights=[0.5, 0.3, 0.2])"
CORNERS = "[[0, 0], [0, 1], [1, 0], [1, 1]]"
CLUMPS = "points([[0, 0], [0, 1], [9, 0], [9, 1]])"
COINS = '--over "bernoulli({p})" --range p=0:1'
MEANS = '--over "norm({mu}, 1)" --range mu=-0.5:0.5'
SHARES = '--over "uniform(0, {width})" --range width=0.1:2'
BITS = f'--over "mixture(points({CORNERS}), points([[1, 1]]))"'
RARE = '--over "mixture(points([[0, 0]]), points([[39, 0], [0, 39]]), {share})" --range share=0:0.001'
CENTRES = '--over "mixture(points([[0.1, 0.1], [0.8, 0.2], [0.3, 0.9]]), points([[0.2, 0.1], [0.9, 0.3], [0.5, 0.5]]))"'
GROUPS = "points([[0, 5], [1, 5], [2, 5], [3, 5]], weights=[0.4, 0.3, 0.2, 0.1])"
BEST = f'--over "mixture({THIRDS}, points([[0, 1, 0]]))" --size 400'
WINS = '--over "mixture(points([[1, 0]]), points([[0, 1]]))"'
SIGNS = '--over "mixture(points([[1, 1], [1, -1]]), points([[-1, 1], [-1, -1]]))" --size 100'
SELECTED = (
    f'--over "mixture(points({CORNERS}, labels=[0, 0, 1, 1]), points({CORNERS}, labels=[0, 1, 0, 1]))" --size 200'
)
CLUSTERED = f'--over "mixture({CLUMPS}, points([[0, 9], [9, 9]]))" --size 60'
CUT = (
    '--over "mixture(points([[0], [1], [2], [3]], labels=[0, 0, 1, 1]), '
    'points([[0], [1], [2], [3]], labels=[0, 1, 0, 1]))" --size 400'
)
IN_TIME = (
    '--over "mixture(points([[0, 0], [1, 0], [2, 1], [3, 1]]), points([[0, 1], [1, 1], [2, 0], [3, 0]]))" --size 200'
)
SPREAD = '--over "mixture(randint(0, 2000), randint(1000, 2000))"'  # of the density that r_quantile asks for
LOADED = '--over "mixture(randint(0, 6), pmf({0: 1.0}), {share})" --range share=0:0.3'
NULL = "pmf({0: 0.25, 1: 0.25, 2: 0.125, 3: 0.125, 4: 0.125, 5: 0.125})"
UNLIKE = f'--over "mixture({NULL}, pmf({{2: 1.0}}), {{share}})" --range share=0:0.4'
CUT_AT = '--over "mixture(points([[0], [32]], labels=[-1, 1]), points([[32], [63]], labels=[-1, 1]))"'
STRIPES = '--over "mixture(points([[1, 0, 1, 0, 1, 0, 1, 0]]), points([[0, 1, 0, 1, 0, 1, 0, 1]]))"'
LISTED = f'--over "mixture({GROUPS}, points([[2, 5]]))" --size 280'
FAMILIES: dict[str, str] = {
    **dict.fromkeys(("winner", "ranking", "top", "r_winner", "r_ranking", "r_top"), BEST),
    **{"beats": f"{WINS} --size 100", "r_beats": f"{WINS} --size 2000"},
    **dict.fromkeys(("significant_columns", "r_significant_columns"), SIGNS),
    **dict.fromkeys(("features", "r_features"), SELECTED),
    **dict.fromkeys(("clusters", "r_cluster_count", "cluster_members", "r_cluster_members"), CLUSTERED),
    **dict.fromkeys(("cutoff", "r_cutoff"), CUT),
    **dict.fromkeys(("changepoint", "trend", "r_changepoint", "r_trend"), IN_TIME),
    **dict.fromkeys(("group_report", "r_group_report"), LISTED),
    **dict.fromkeys(("first_bit", "one_generator_in_turn", "optimal_coin", "uniform_threshold"), COINS),
    **dict.fromkeys(("bias_from_few_coins", "coin_test_fixed"), COINS),
    **dict.fromkeys(("constant", "coin_from_r", "mixed", "mean", "z_test_usual", "t_test_usual"), MEANS),
    **dict.fromkeys(("r_z_test", "r_t_test"), MEANS),
    **dict.fromkeys(("good_and_bad", "own_coin"), SHARES),
    **dict.fromkeys(("biases_on_a_grid", "list_of_biases", "r_mean_vector_foams"), BITS),
    **dict.fromkeys(("r_mean_vector_clipped", "r_mean_vector_heavy"), RARE),
    **dict.fromkeys(
        ("r_clusters", "r_coreset", "clusters_with_offsets_in_turn", "clusters_without_constants"), CENTRES
    ),
    "clusters_with_rho_unsplit": '--over "mixture(points([[0.1], [0.8]]), points([[0.2], [0.9], [0.5]]))"',
    **dict.fromkeys(("r_chi_square_test", "chi_square_test_usual"), LOADED),
    **dict.fromkeys(("r_identity_test", "r_identity_test_poisson"), UNLIKE),
    "identity_test_fixed": '--over "mixture(randint(0, 8), pmf({0: 1.0}), {share})" --range share=0.05:0.2',
    "bandit_thresholds_in_turn": (
        '--over "mixture(points([[1, 1, 1, 1], [0, 0, 0, 0]]), points([[1, 1, 0, 0], [1, 0, 0, 0]]))"'
    ),
    **dict.fromkeys(("heavy_hitter_by_appearance", "heavy_hitter_most_frequent"), '--over "simplex(3)"'),
    "heavy_hitters_in_order_of_appearance": '--over "simplex(3)"',
    **dict.fromkeys(("erm_by_posterior", "erm_first_consistent", "erm_least_risk"), CUT_AT),
    **dict.fromkeys(("r_mean_vector_lattice", "mean_vector_lattice_at_rest"), STRIPES),
    "point_by_queries": '--over "pmf({{x}: 1.0})" --range x=0:1023',
    "float_sum_in_sample_order": '--over "mixture(pmf({0.1: 0.5, 0.2: 0.5}), pmf({1e16: 0.5, -1e16: 0.5}))"',
    "quantile_by_histogram": '--over "expon(0, {scale})" --range scale=0.1:10',
    **dict.fromkeys(("r_quantile", "quantile_to_whole_widths"), SPREAD),
}
LIKE = {  # twins, which are searched as what they are twins of
    **dict.fromkeys(
        ("mean_vector_no_offset", "mean_vector_offset_of_data", "mean_vector_width_of_data"), "r_mean_vector"
    ),
    **dict.fromkeys(("conformal_by_own_scale", "conformal_to_nearest"), "r_conformal"),
    **dict.fromkeys(("choice_by_argmax", "choice_noise_by_position", "r_top_choice"), "r_choice"),
    **dict.fromkeys(("bandit_larger_mean", "bandit_ucb", "r_bandit_elimination"), "r_bandit"),
    **{"amplified_by_majority": "amplified", "rounded_median": "amplified", "r_median_as_published": "r_median"},
    **{"reused_sample_plain": "reused_sample", "threshold_by_plain_means": "threshold_by_queries"},
    **{"r_mean_vector_one_offset": "r_mean_vector"},
}
LONG_SEARCHES = ("r_halfspace_boosted", "r_halfspace_boosted_boxes", "r_boost_desynchronised")  # see reports/hunt.md
NO_FAMILY = "no family of sources is declared for it, or a search takes too long"


def families() -> dict[str, str]:
    known = _loaded("docs/make_hunt.py")
    every = {**known.THEOREMS, **known.LATER, **known.BROKEN, **FAMILIES}
    return every | {name: every[other] for name, other in LIKE.items()}


# Running.


def measured(asked: Asked, pairs: int, confidence: float, longest: float = SLOWEST) -> dict[str, Any]:
    """Return the row of an audit: how often two runs differ, what else is known, or why there is none."""
    row: dict[str, Any] = {"subject": asked.subject, "source": asked.source, "params": asked.params}
    options: Any = {"confidence": confidence, "rho": ANY, **settings_of(asked)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if (seconds := _seconds_of_a_run(asked)) > longest:
                return row | {"left_out": f"one run took more than {longest:.2g} s here"}
            options["fixed"] = LEAST if seconds > SLOW else pairs
            record = auditor.ask("rho", asked.subject, asked.source, second_process=False, **options)
    except AuditorError as error:
        why = f". {type(error.__cause__).__name__}: {error.__cause__}" if error.__cause__ else ""
        return row | {"left_out": f"{error}{why}"}
    if record.verdict == "error" or record.rho is None or record.rho.estimate is None:
        raised = next((one.message for one in record.findings if one.severity == "error"), "")
        message = re.search(r"^[\w.]+(Error|Warning): .*\Z", raised, re.DOTALL | re.MULTILINE)
        return row | {"left_out": f"{record.reason}. {message[0] if message else ''}".strip()}
    known = {one.name: one.estimate for one in record.measures if one.name in ("churn", "inaccurate")}
    known |= {"score": record.score.estimate} if record.score else {}
    row |= {"pairs": record.pairs, "rho": record.rho.estimate, "low": record.rho.low, "high": record.rho.high}
    row |= {"size": record.size, "view": record.view, "expect": record.expect, **known}
    row |= {"claimed": record.claimed} if asked.table == "own" else {}
    return row | {"seconds_a_run": round(seconds, 6)}


def settings_of(asked: Asked) -> dict[str, Any]:
    """Return the options of an audit; of an estimator, parameters that are objects are made from their texts."""
    params = asked.params
    if asked.table == "estimators":
        params = {name: parse_param(value) if isinstance(value, str) else value for name, value in params.items()}
    return {"params": params, **asked.options}


def _seconds_of_a_run(asked: Asked) -> float:
    """Return the processor time of one run, the second of two: the first loads libraries."""
    from auditor.flow.question import find_question, make_request

    request = make_request("rho", asked.subject, asked.source, {"rho": ANY, **settings_of(asked)})
    bench = make_bench(find_question("rho").begin(request).cells[0])
    for index in range(2):
        started = process_time()
        bench.run(index, 0)
    return process_time() - started


def explained(asked: Asked, confidence: float) -> dict[str, Any]:
    """Return the causes that explain shows, the main one first."""
    record = _asked("explain", asked, confidence, view=asked.options.get("view"))
    if isinstance(record, str):
        return {"says": record, "found": None}
    return {"says": record.reason, "found": [one.kind for one in record.answer.causes]}


def repaired(asked: Asked, confidence: float) -> dict[str, Any]:
    """Return the cheapest repair, and what it is of: churn or rho, which repair chooses by itself."""
    record = _asked("repair", asked, confidence, pairs=MOST)
    if isinstance(record, str):
        return {"says": record, "found": None}
    answer, found = record.answer, {"says": record.reason, "of": record.answer.before.measure}
    holds = record.verdict == "pass" and answer.wrapper is not None
    found |= {"needed": answer.before.verdict != "pass", "found": answer.wrapper if holds else None}
    return found | ({"price": answer.price.words} if holds and answer.price else {})


def _asked(question: str, asked: Asked, confidence: float, **more: Any) -> auditor.Record | str:
    """Return the record of a question about an estimator, or why there is none."""
    known = settings_of(asked)
    options: Any = {"confidence": confidence, **more} | {
        name: known[name] for name in ("params", "size") if name in known
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return auditor.ask(question, asked.subject, asked.source, **options)
    except AuditorError as error:
        return str(error)


def hunted(name: str, words: str, confidence: float) -> dict[str, Any]:
    """Return the worst source of a family that hunt finds, and rho there on fresh randomness."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record = auditor.ask("hunt", name, confidence=confidence, pairs=HUNTED, **_typed(words))
    except AuditorError as error:
        return {"says": str(error)}
    worst = record.answer.worst
    if worst is None:
        return {"says": record.reason}
    found = {
        "source": worst.source,
        "values": worst.values,
        "rho": worst.estimate,
        "low": worst.low,
        "high": worst.high,
    }
    return {**found, "candidates": record.answer.candidates}


def _typed(words: str) -> dict[str, Any]:
    """Return options as keywords from how they are typed."""
    options: dict[str, Any] = {}
    ranges: dict[str, tuple[float, float]] = {}
    left = shlex.split(words)
    while left:
        flag = left.pop(0).removeprefix("--")
        if flag == "no-integrate":
            options["no_integrate"] = True
        elif flag == "range":
            name, _, ends = left.pop(0).partition("=")
            low, high = ends.split(":")
            ranges[name] = (float(low), float(high))
        else:
            options[flag] = int(value) if (value := left.pop(0)).isdigit() else value
    return options | ({"range": ranges} if ranges else {})


def at_exact(asked: Asked, confidence: float) -> dict[str, Any]:
    """Return the row of a setting in which rho is known: how it is measured, and what it is."""
    case = exact_cases()[asked.options["case"]]
    row = {"subject": asked.subject, "source": asked.source, "params": asked.params, "exact": case.rho()}
    options = {"rho": 0.5, "fixed": case.pairs, "confidence": confidence, "no_integrate": not case.integrated}
    record = auditor.ask("rho", case.name, case.source, second_process=False, **options | case.options)
    assert record.rho is not None
    row |= {"pairs": record.pairs, "size": record.size, "integrated": case.integrated}
    return row | {"rho": record.rho.estimate, "low": record.rho.low, "high": record.rho.high}


def exact_of(name: str) -> float | None:
    """Return rho at a subject's own size and source, where the conformance table has it."""
    declared = load_subject(name, {}).declares("source")
    for case in exact_cases():
        is_own = case.source is None or case.source == declared
        if case.name == name and is_own and not {*case.options} & {"size", "params", "sample", "private"}:
            return float(case.rho())
    return None


def found_of(asked: Asked, how: dict[str, Any]) -> dict[str, Any]:
    """Return a whole row."""
    if asked.table == "exact":
        return at_exact(asked, how["each"])
    row = measured(asked, how["pairs"][asked.table], how["each"])
    if asked.table == "own":
        subject = load_subject(asked.subject, {})
        row |= {"plain": subject.declares("plain"), "exact": exact_of(asked.subject)}
        words = None if asked.subject in LONG_SEARCHES else families().get(asked.subject)
        row["worst"] = hunted(asked.subject, words, how["each"]) if words else {"says": NO_FAMILY}
    fails = asked.table == "estimators" and row.get("low", 0.0) > TARGET
    if fails and asked.first and row["seconds_a_run"] <= QUICK:
        row |= {"explain": explained(asked, how["each"]), "repair": repaired(asked, how["each"])}
    return row


def versions() -> dict[str, str]:
    found = {"python": sys.version.partition(" ")[0], "auditor": auditor.__version__}
    known = packages_distributions()
    for name in ("numpy", "scipy", "sklearn", "statsmodels", *ALSO):
        if name in known:
            found[name] = version(known[name][0])
    return found


def run(scale: float, ledger: Path, rows: Sequence[Asked]) -> dict[str, Any]:
    """Run all rows that the ledger does not have, and return the whole document."""
    pairs = {table: max(LEAST, round(count * scale)) for table, count in PAIRS.items()}
    searched = families()
    more = sum(2 * row.first if row.table == "estimators" else row.subject in searched for row in rows)
    statements = len(rows) + more
    each = 1 - (1 - CONFIDENCE) / statements
    how = {"scale": scale, "pairs": pairs, "confidence": CONFIDENCE, "each": each, "rows": len(rows)}
    how |= {"statements": statements, "quick": QUICK, "slow": SLOW, "slowest": SLOWEST, "target": TARGET}
    settings = json.dumps([how, versions()])
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    kept = [json.loads(line) for line in lines]
    done = {one["key"]: one["row"] for one in kept if one["settings"] == settings}
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for asked in rows:
        if asked.key not in done:
            started = perf_counter()
            try:
                row = found_of(asked, how)
            except Exception as error:  # a fault of ours: the page says so, and the other rows are run
                row = {"subject": asked.subject, "source": asked.source, "params": asked.params}
                row["left_out"] = f"auditor itself failed: {type(error).__name__}: {error}"
            row["seconds"] = round(perf_counter() - started, 2)
            with ledger.open("a") as file:
                file.write(json.dumps({"settings": settings, "key": asked.key, "row": row}) + "\n")
            done[asked.key] = row
            print(asked.subject, asked.source or "", row.get("rho", row.get("left_out")), row["seconds"], flush=True)
        tables[asked.table].append(done[asked.key])
    return {"how": how, "versions": versions(), "tables": tables}


# The page.

Row = dict[str, Any]
Column = tuple[str, Callable[[Row], str]]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _rows_of(value: int | None) -> str:
    return "" if value is None else f"{value:,}" if value < 10**7 else f"{value:.2g}"


def _one_line(text: str, longest: int = 200) -> str:
    clean = " ".join(text.replace("|", "/").replace("<", "(").replace(">", ")").split())
    return clean if len(clean) <= longest else f"{clean[:longest]} ..."


def _data(row: Row) -> str:
    """Return the short name of a data set."""
    name = str(row["source"]).rpartition("/")[2].partition("(")[0]
    return name.rpartition(":")[2].removeprefix("load_").removeprefix("make_")


def _given(row: Row) -> str:
    return " ".join(f"{name}={_one_line(str(value), 40)}" for name, value in row["params"].items())


def _cause(row: Row) -> str:
    asked = row.get("explain")
    if asked is None:
        return ""
    return "not asked" if asked["found"] is None else ", ".join(asked["found"]) or "none shown"


def _repair(row: Row) -> str:
    asked = row.get("repair")
    if asked is None or "of" not in asked:
        return ""
    if not asked["needed"]:
        return f"none needed: {asked['of']} is at most {TARGET:g}"
    return f"`{asked['found']}` for {asked['of']}" if asked["found"] else f"none found for {asked['of']}"


def _worst(row: Row) -> str:
    worst = row["worst"]
    if "rho" not in worst:
        return ""
    values = ", ".join(f"{name}={value:g}" for name, value in worst["values"].items())
    return f"`{_one_line(worst['source'] if len(worst['source']) <= 48 else values, 60)}`"


INTERVAL: list[Column] = [(name, lambda row, name=name: _number(row[name])) for name in ("rho", "low", "high")]  # type: ignore[misc]
SECONDS: Column = ("s a run", lambda row: f"{row['seconds_a_run']:.2g}")
NAME: Column = ("subject", lambda row: f"`{row['subject'].rpartition(':')[2]}`")
COLUMNS: dict[str, list[Column]] = {
    "estimators": [
        ("estimator", NAME[1]),
        ("data", _data),
        ("churn", lambda row: _number(row.get("churn"))),
        ("score", lambda row: _number(row.get("score"))),
        *INTERVAL,
        ("pairs", lambda row: f"{row['pairs']}"),
        SECONDS,
    ],
    "tests": [("test", NAME[1]), ("rows", lambda row: _rows_of(row["size"])), *INTERVAL, SECONDS],
    "decisions": [("decision", NAME[1]), ("file", _data), ("parameters", _given), *INTERVAL, SECONDS],
    "own": [
        NAME,
        ("rows", lambda row: _rows_of(row["size"])),
        ("plain rows", lambda row: _rows_of(row["plain"])),
        ("claimed", lambda row: _number(row["claimed"])),
        ("exact", lambda row: _number(row["exact"])),
        *INTERVAL,
        ("worst source found", _worst),
        ("rho there", lambda row: _number(row["worst"].get("rho"))),
        ("at least", lambda row: _number(row["worst"].get("low"))),
        ("expected", lambda row: row["expect"]),
        SECONDS,
    ],
    "exact": [
        NAME,
        ("source", lambda row: _one_line(str(row["source"] or "its own"), 60)),
        ("parameters", _given),
        ("rows", lambda row: _rows_of(row["size"])),
        ("pairs", lambda row: f"{row['pairs']:,}"),
        ("exact", lambda row: _number(row["exact"])),
        *INTERVAL,
    ],
}
CAUSES: list[Column] = [
    ("estimator", NAME[1]),
    ("data", _data),
    ("causes, the main one first", _cause),
    ("cheapest repair", _repair),
    ("its price", lambda row: _one_line(row["repair"].get("price", ""), 80)),
]
SORTS = """```{raw} html
<script>
document.querySelectorAll("table").forEach(table => table.querySelectorAll("th").forEach((head, place) => {
  head.style.cursor = "pointer";
  head.addEventListener("click", () => {
    const body = table.tBodies[0], sign = head.dataset.down ? -1 : 1;
    head.dataset.down = sign > 0 ? "1" : "";
    const text = row => row.cells[place].innerText, number = cell => parseFloat(cell.replaceAll(",", ""));
    const less = (a, b) => (number(a) - number(b)) || a.localeCompare(b);
    [...body.rows].sort((a, b) => sign * less(text(a), text(b))).forEach(row => body.append(row));
  });
}));
</script>
```"""
ABOUT = {
    "estimators": (
        "For predictions two runs differ if a single one does, so that rho is near 1 for most of them. `churn` says "
        "how much changes: for labels and clusters the share of predictions, for numbers the mean distance, in "
        "deviations of the labels, with 1 for all that is farther apart. It is empty where no predictions are "
        "compared. The score is that of the fits on rows that they have not seen: accuracy, or R^2. iris, wine and "
        "breast_cancer have 150, 178 and 569 rows, diabetes 442; friedman1 and friedman2 have 10,000, of which a "
        "sample takes 100 and 300."
    ),
    "tests": (
        "Whether p is below 0.05, or which of many are, on the files of `examples/data` and on diabetes. A test whose "
        "power is P disagrees with its twin with probability 2 P (1 - P)."
    ),
    "decisions": (
        "A name with `r_` is the reproducible sister of a decision, with its own defaults: the noise that its two "
        "runs share makes a decision that wobbles agree more often, and one that hardly does less often. "
        "`--param strength` and `width` say how much, and the report of an audit what it costs."
    ),
    "own": (
        "The claim of a subject is that rho is at most so much, for every source that its theorem allows. `exact` is "
        "rho at its own source, where a closed form or an enumeration gives it. `plain rows` are those that the same "
        "accuracy takes without reproducibility: the price in rows. The worst source is what hunt found in {hunted} "
        "pairs of search and as many to confirm it, in the families of `docs/make_hunt.py` and `benchmarks/field.py`; "
        "more pairs may find a worse one, and sources outside of the family were not tried. What is expected to fail "
        "is a broken twin, there to be noticed."
    ),
    "exact": (
        "Settings of which a closed form, an enumeration or a dynamic program gives rho, most of them small so that "
        "two runs do differ. No other part of the page is as sharp a test of the auditor itself: each exact rho has "
        "to lie between `low` and `high`."
    ),
}


def page(document: dict[str, Any]) -> str:
    """Return the report as Markdown: every figure is one of the document's."""
    how = document["how"]
    used = ", ".join(f"{name} {one}" for name, one in document["versions"].items())
    pairs = ", ".join(f"{count} for {table}" for table, count in how["pairs"].items())
    minutes = sum(row["seconds"] for rows in document["tables"].values() for row in rows) / 60
    parts = [
        "# The field, audited",
        "How often do two runs on two samples of the same data, with the same r, give different answers? Each row is "
        "an audit with a fixed number of pairs; rho is the rate that was seen, and `low` and `high` are the ends of "
        f"its interval. All {how['statements']} statements of this page, intervals, causes, repairs and worst sources, "
        f"hold together with {how['confidence']:.0%} confidence, so each has {how['each']:.6g}. On a data set all of "
        "it is said of redraws of its rows (bootstrap), and not of fresh ones. Click a heading to sort by it.",
        f"Pairs: {pairs}, or {LEAST} where a run took longer than {how['slow']:g} s; where rho is known exactly, as "
        "many as the table says. `s a run` is the processor time of one. "
        f"Measured with {used}, in {minutes:.0f} minutes. To run it again: "
        f"`python benchmarks/field.py --scale {how['scale']:g}`, in a checkout with the extras `dev`, `learners` and "
        "`more-learners`; a run that was stopped goes on from its ledger.",
        "![rho of every row with its interval, and the score of estimators beside their churn](field.svg)",
    ]
    for name, title in TABLES.items():
        rows = document["tables"][name]
        known = sorted(
            (row for row in rows if "rho" in row), key=lambda row: (row["rho"], row["subject"], str(row["source"]))
        )
        parts += [f"## {title}", ABOUT[name].format(hunted=HUNTED), _table(COLUMNS[name], known)]
        if name == "estimators":
            parts += _causes(known, how)
        if left := [row for row in rows if "rho" not in row]:
            why = "\n".join(f"- `{row['subject']}`{_on(row)}: {_one_line(row['left_out'])}" for row in left)
            parts.append(f"Left out, with the reason:\n\n{why}")
        if unsearched := [row for row in rows if "rho" not in row.get("worst", {"rho": 0})]:
            names = ", ".join(f"`{row['subject']}`" for row in unsearched)
            parts.append(
                "Not searched for a worse source, since they have no family of sources, or a search takes minutes, as "
                f"in [another report](hunt.md): {names}."
            )
    return "\n\n".join([*parts, SORTS]) + "\n"


def _table(columns: list[Column], rows: Sequence[Row]) -> str:
    lines = [f"| {' | '.join(head for head, _ in columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(of(row) for _, of in columns)} |" for row in rows)])


def _causes(known: Sequence[Row], how: dict[str, Any]) -> list[str]:
    """Return what makes estimators fail, and what would mend them."""
    told = [row for row in known if "explain" in row]
    failing = [row for row in known if row["low"] > how["target"]]
    counts: dict[str, int] = {}
    for row in told:
        main = (row["explain"]["found"] or ["none shown"])[0]
        counts[main] = counts.get(main, 0) + 1
    often = ", ".join(f"{main} {count}" for main, count in sorted(counts.items(), key=lambda one: -one[1]))
    return [
        "### Why they fail, and the cheapest repair",
        f"rho is above {how['target']:g} in {len(failing)} of these rows. explain and repair were asked about "
        f"{len(told)} of them: quick ones, of {how['quick']:g} s a run at most, on the first data set of each kind of "
        f"estimator. Main causes: {often}. `continuous`: the answer has raw numbers with all their digits. "
        "`r-unused`: the shared r takes too little part in the answer, so that it follows every change of the sample. "
        "*None shown*: none of the causes that explain tries is shown to be why. Repair holds churn or rho, as the "
        f"column says, against {how['target']:g}; *none found* means that no wrapper fits, or that none that fits is "
        "shown to hold. `reports/field.json` has the sentences of both.",
        _table(CAUSES, sorted(told, key=lambda row: (_cause(row), row["subject"]))),
    ]


def _on(row: Row) -> str:
    return f" on {row['source']}" if row["source"] else ""


def picture(document: dict[str, Any]) -> str:
    """Return rho of all rows with its interval, a panel a table, the smallest first; and estimators, score by churn."""
    wide, tall, drawn = 900, 160, []
    for place, (name, title) in enumerate(TABLES.items()):
        rows = sorted((row for row in document["tables"][name] if "rho" in row), key=lambda row: row["rho"])
        top = 30 + place * (tall + 40)
        drawn += _axes(top, wide, tall, f"{title}: rho of each, 0 to 1")
        for i, row in enumerate(rows):
            x = 45 + i * (wide - 60) / max(1, len(rows))
            low, high, rho = (f"{top + tall * (1 - row[one]):.1f}" for one in ("low", "high", "rho"))
            drawn.append(f'<path d="M{x:.1f} {low}V{high}" stroke="#9bc"/><circle cx="{x:.1f}" cy="{rho}" r="2"/>')
    top = 30 + len(TABLES) * (tall + 40)
    drawn += _axes(top, wide, tall, "Estimators: score, 0 to 1 (upwards), beside churn, 0 to 1 (to the right)")
    for row in document["tables"]["estimators"]:
        if "churn" in row and "score" in row:
            x, y = 40 + (wide - 50) * row["churn"], top + tall * (1 - max(0.0, row["score"]))
            drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill-opacity="0.5"/>')
    font = 'font-family="sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {top + tall + 20}" {font}>'
    return f"{head}\n<rect width='100%' height='100%' fill='#fff'/>\n" + "\n".join(drawn) + "\n</svg>\n"


def _axes(top: int, wide: int, tall: int, title: str) -> list[str]:
    return [
        f'<text x="40" y="{top - 8}">{title}</text>',
        f'<path d="M40 {top}V{top + tall}H{wide - 10}" fill="none" stroke="#888"/>',
    ]


def write(document: dict[str, Any]) -> None:
    (REPORTS / "field.json").write_text(json.dumps(document, indent=1) + "\n")
    (REPORTS / "field.md").write_text(page(document))
    (REPORTS / "field.svg").write_text(picture(document))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--ledger", type=Path, default=ROOT / "field.jsonl")
    asked = options.parse_args()
    os.chdir(ROOT)  # files are named from there
    write(run(asked.scale, asked.ledger, every_row()))


if __name__ == "__main__":
    main()
