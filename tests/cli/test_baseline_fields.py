"""A baseline is of one audit: whichever option makes it another, gate says so; how sure it is does not matter."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from auditor.questions.pairs import PairsOptions
from auditor.request import listed

pytestmark = pytest.mark.usefixtures("no_second_opinion")
Command = Callable[..., tuple[int, str, str]]
LEARNERS = """
import auditor
import numpy as np

def rows(rng, size):
    return rng.integers(0, 2, size)

def plain(sample, r, *, width=1.0):
    return 1

def counted(sample: auditor.Sample, r):
    return 1

def has_private(sample, r, private):
    return 1

class Model:
    def predict(self, x):
        return np.zeros(len(x))

def fitted(sample, r):
    return Model()
"""
ROWS = "field_learners.py:rows"


class Case(NamedTuple):
    """What the option is set to, what gate then says, and what is audited before."""

    value: Any
    said: str
    target: str = "plain"
    before: dict[str, Any] = {}  # noqa: RUF012 - never changed


OTHERS = {
    "size": Case(4, "--size: 3 and 4"),
    "sample": Case(
        "counts",
        "--sample: rows and counts",
        "counted",
        {"source": "pmf([0.5, 0.5])", "sample": "rows"},
    ),
    "params": Case({"width": 2.0}, "--param: none and width=2.0"),
    "view": Case("round(1)", "--view: output and round(1)"),
    "atol": Case(0.1, "--atol: none and 0.1"),
    "rtol": Case(0.1, "--rtol: none and 0.1"),
    "probe": Case(7, "--probe: 5 and 7", "fitted", {"view": "predict", "probe": 5}),
    "resample": Case(
        "split", "--resample: bootstrap and split", "plain", {"source": "d.csv", "resample": "bootstrap"}
    ),
    "as": Case("pandas", "--as: none and pandas", "plain", {"source": "d.csv"}),
    "randomness": Case("int", "--randomness: Generator and int"),
    "private": Case("unshared", "--private: shared and unshared", "has_private", {"private": "shared"}),
    "on_error": Case("bottom", "--on-error: stop and bottom"),
    "memory": Case("1G", "--memory: none and 1073741824"),
}  # fmt: skip
ALIKE = {"seed": 1, "rho": 0.4, "pairs": 45, "accept_overlap": True, "for": "1h"}
ELSEWHERE = {
    "inputs": "a baseline is of one input",
    "family": "of audits of one run, and no file has it",
    "fixed": "a baseline is counted to the end of its pairs",
    "measure": "a baseline is of rho",
    "scale": "a baseline is of rho, whatever churn is",
    "rows": "where a line for each row goes",
    "by": "how a report groups rows",
    "score": "a baseline is of rho, whatever is scored beside it",
    "score_at_least": "a baseline is of rho alone",
    "baseline": "what is asked here",
    "no_integrate": "outputs are counted",
    "jobs": "who runs it",
    "cluster": "who runs it",
    "executor": "who runs it",
    "confidence": "one for all audits of a file",
    "timeout": "a run that takes longer ends the audit, and nothing is counted",
    "ledger": "where trials are kept",
    "resume": "that it goes on",
    "second_process": "for Python alone, and what a pair shows is the same",
}


def test_every_option_is_another_audit_or_none_or_listed_with_the_reason() -> None:
    kinds = [{*OTHERS}, {*ALIKE}, {*ELSEWHERE}]
    assert set.union(*kinds) == {one.key for one in listed(PairsOptions).values()}
    assert sum(map(len, kinds)) == len(listed(PairsOptions))


def config(target: str, options: dict[str, Any]) -> str:
    lines = {"target": f"field_learners.py:{target}", "source": ROWS, "size": 3, "rho": 0.5, "pairs": 40, **options}
    lines["expect"] = "no worse"
    drawn = "\n".join(f"{name} = {_drawn(value)}" for name, value in lines.items())
    text = f'[tool.auditor]\nbaseline = "baseline.toml"\n\n[[tool.auditor.subject]]\n{drawn}\n'
    assert tomllib.loads(text)
    return text


def _drawn(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_drawn(one)}' for name, one in value.items())} }}"
    return dumps(value)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "field_learners.py").write_text(LEARNERS)
    (tmp_path / "d.csv").write_text("x,z\n" + "".join(f"{i},{i % 3}\n" for i in range(12)))
    return tmp_path


def gated(project: Path, command: Command, target: str, options: dict[str, Any], *words: str) -> tuple[int, str]:
    (project / "pyproject.toml").write_text(config(target, options))
    code, out, err = command("gate", *words, cwd=project)
    return code, out + err


@pytest.mark.parametrize("name", OTHERS)
def test_a_baseline_of_another_audit_is_refused_by_name(name: str, project: Path, command: Command) -> None:
    case = OTHERS[name]
    code, said = gated(project, command, case.target, case.before, "--update-baseline")
    assert code == 0, said
    kept = (project / "baseline.toml").read_text()
    code, said = gated(project, command, case.target, case.before)
    assert code in (0, 3), said
    code, said = gated(project, command, case.target, {**case.before, name: case.value})
    assert code == 2
    assert f"but what is asked now differs in {case.said}; --update-baseline counts it afresh" in said
    code, said = gated(project, command, case.target, {**case.before, name: case.value}, "--update-baseline")
    assert (code, (project / "baseline.toml").read_text() != kept) == (0, True), "it is counted afresh"
    assert gated(project, command, case.target, {**case.before, name: case.value})[0] in (0, 3)


def test_another_source_is_another_audit(project: Path, command: Command) -> None:
    assert gated(project, command, "plain", {}, "--update-baseline")[0] == 0
    code, said = gated(project, command, "plain", {"source": "bernoulli(0.5)"})
    assert (code, "--source: field_learners.py:rows and bernoulli(0.5)" in said) == (2, True)


def test_how_sure_and_how_it_is_run_make_no_other_audit(project: Path, command: Command) -> None:
    assert gated(project, command, "plain", {}, "--update-baseline")[0] == 0
    for name, value in ALIKE.items():
        code, said = gated(project, command, "plain", {name: value})
        assert code in (0, 3), (name, said)
