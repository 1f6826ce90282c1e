"""The rules of the house: which way imports go, what importing costs, how names are chosen."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import algorithms
import auditor
from auditor.panel import with_theorem

ROOT = Path(__file__).parent.parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for package in ("auditor", "algorithms")
    for path in sorted((ROOT / package).rglob("*.py"))
}
# Each module may import those before it; one line a stage of the flow.
FLOW = """
auditor.__init__ auditor.errors
auditor.files auditor.literals
auditor.tables
auditor.parent auditor.delivery auditor.descriptors auditor.foreign auditor.process_state
auditor.second_server
auditor.randomness auditor.interval auditor.outward auditor.lattice
auditor.canonical auditor.lookup auditor.counting auditor.law auditor.own_code
auditor.common_distributions
auditor.datasets auditor.views auditor.estimators
auditor.outcome auditor.churn auditor.threshold auditor.gate auditor.cost auditor.sampling auditor.profile
auditor.subjects auditor.sources auditor.plan auditor.inputs
auditor.trial auditor.verdict auditor.group_verdict auditor.worst_arm auditor.losses auditor.transcripts
auditor.setup auditor.steadiness auditor.keeper
auditor.second_process
auditor.serving auditor.preflight
auditor.engine
auditor.seat
auditor.hiring
auditor.falls
auditor.workers
auditor.cluster
auditor.ledger_file
auditor.report.__init__ auditor.report.escape auditor.report.parts
auditor.report.record
auditor.report.curve_record auditor.report.price_record auditor.report.reuse_record
auditor.ledger
auditor.pipeline auditor.exponent auditor.least_size
auditor.panel auditor.vary auditor.arms auditor.grouped auditor.worst_case auditor.generalise auditor.reuse
auditor.curve auditor.price auditor.side_by_side auditor.worst_profile
auditor.config
auditor.report.confidence auditor.report.several_parts auditor.report.profile_figure
auditor.report.terminal auditor.report.progress auditor.report.replayed auditor.report.prospects auditor.report.registry
auditor.report.table auditor.report.axes auditor.report.history
auditor.report.curves
auditor.report.figure auditor.report.prices
auditor.report.theorems auditor.report.junit auditor.report.markdown auditor.report.annotations
auditor.assertion auditor.outlets
auditor.pytest_plugin auditor.commands.__init__ auditor.commands.options
auditor.commands.several auditor.commands.before auditor.commands.curves auditor.commands.definitions
auditor.commands.interviews auditor.commands.past auditor.commands.trust
auditor.commands.one
auditor.command_line
auditor.__main__
"""


def imports(path: Path) -> set[str]:
    """Modules imported anywhere in a file, but for the lines that only a type checker reads."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_every_module_has_its_place_in_the_flow() -> None:
    placed = FLOW.split()
    assert sorted(placed) == sorted(name for name in MODULES if name.startswith("auditor"))


def test_imports_follow_the_flow() -> None:
    stage = {name: i for i, line in enumerate(FLOW.strip().splitlines()) for name in line.split()}
    for name in stage:
        for other in imports(MODULES[name]) & set(stage) - {name}:
            assert stage[other] <= stage[name], f"{name} imports {other}, which comes later in the flow"


def test_the_auditor_never_imports_the_algorithms_and_they_use_public_names_only() -> None:
    for name, path in MODULES.items():
        if name.startswith("auditor"):
            assert not any(other.partition(".")[0] == "algorithms" for other in imports(path)), name
        else:
            used = {other for other in imports(path) if other.partition(".")[0] == "auditor"} - {"auditor"}
            assert used <= {f"auditor.{public}" for public in auditor.__all__}, name


@pytest.mark.parametrize(
    "name",
    [
        "interval",
        "verdict",
        "gate",
        "cost",
        "exponent",
        "least_size",
        "profile",
        "group_verdict",
        "worst_arm",
        "threshold",
        "lattice",
        "outward",
    ],
)
def test_judgement_is_pure(name: str) -> None:
    forbidden = {"random", "numpy.random", "os", "sys", "io", "pathlib", "time", "auditor.randomness"}
    assert not imports(MODULES[f"auditor.{name}"]) & forbidden


def test_no_module_carries_the_name_of_a_public_function_and_there_is_no_drawer() -> None:
    stems = {path.stem for path in MODULES.values()}
    assert not stems & set(auditor.__all__)
    assert not stems & {"utils", "helpers", "common", "misc"}


@pytest.mark.parametrize("code", ["import auditor", "import auditor.command_line", "import auditor; dir(auditor)"])
def test_importing_costs_neither_numpy_nor_scipy(code: str) -> None:
    check = f"import sys; {code}; sys.exit(bool({{'numpy', 'scipy', 'pebble', 'dask'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_public_names_are_all_there() -> None:
    for name in auditor.__all__:
        assert getattr(auditor, name) is not None
    assert set(auditor.__all__) <= set(dir(auditor))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        auditor.nothing  # noqa: B018


def test_every_result_of_the_paper_heads_exactly_one_module() -> None:
    """The first line of a module's docstring says what of the paper it is; the map says the same."""
    heads = {
        name: (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
        for name, path in MODULES.items()
        if name.startswith("algorithms.")
    }
    for place, module in algorithms.PAPER.items():
        for result in place.split(", "):
            named = [name for name, head in heads.items() if re.search(rf"{re.escape(result)}(?!\d)", head)]
            assert named == [module], f"{result} heads {named}"
    registered = {subject.declared.theorem for subject in with_theorem()}
    results = {result for place in algorithms.PAPER for result in place.split(", ")}
    assert {str(theorem).removesuffix(" as published") for theorem in registered} <= results


def test_nothing_evaluates_or_unpickles() -> None:
    for name, path in MODULES.items():
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        names = {ast.unparse(call) for call in calls}
        assert not names & {"eval", "exec", "pickle.load", "pickle.loads"}, name


def test_functions_fit_on_a_screen() -> None:
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.end_lineno
    )
    print(f"median {lengths[len(lengths) // 2]}, 95th percentile {lengths[len(lengths) * 95 // 100]} of {len(lengths)}")
    assert lengths[len(lengths) // 2] <= 10
    assert lengths[len(lengths) * 95 // 100] <= 40
