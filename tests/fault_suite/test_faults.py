"""A learner goes wrong in each of some two hundred ways, in the command's own process and in workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from around import IN_SURROUNDINGS
from fault import FAILS, FAULT, PASSES, Fault, Tell
from runs import EXITS, HANGS, IN_RUNS, MEMORY, RAISES
from shell import Ran, Shell
from state import IN_STATE

CATALOGUE = IN_RUNS + IN_STATE + IN_SURROUNDINGS
_PLAN = ("--rho", "0.5", "--fixed", "12")  # so that the pair that goes wrong late is run, whatever the gate would need
_WORKERS = ("--jobs", "2")
_BOTTOM = (*_WORKERS, "--on-error", "bottom")
_ENDS = (  # the process that asks, or outlives its command there: these always have one of their own
    "in process, exits",
    "in process, leftovers",
    *(f"in {place}, {what}" for place in ("process", "workers") for what in ("import", "view")),
)


_NOT_ALWAYS = {  # what is left of the marked ones is tried always; what has a limit runs in a worker anyway
    "in process": ("hangs", "memory", "declaration"),
    "in workers": ("global state", "prints", "declaration"),
    "bottom": ("raises", "exits", "hangs", "memory"),
}


def _in(place: str, fault: Fault, *options: str) -> Fault:
    always = fault.ci and fault.kind not in _NOT_ALWAYS[place]
    return replace(fault, kind=f"{place}, {fault.kind}", options=(*fault.options, *options), ci=always)


def _as_bottom(fault: Fault) -> Fault:
    """A run in some hundred is bottom and does not matter; where every run is, nothing was audited."""
    codes, words = ((PASSES,), "gave no output") if fault.late else ((FAILS, FAULT), "")
    if "hangs" in fault.kind:
        codes, words = (FAULT,), "pair"  # what a clock cuts is never an output
    return replace(_in("bottom", fault, *_BOTTOM), codes=codes, words=words)


def _can_be_bottom(fault: Fault) -> bool:
    return fault.codes == (FAULT,) and "bottom" not in fault.name and "source" not in fault.name


IN_PROCESS = tuple(_in("in process", fault) for fault in CATALOGUE)
IN_WORKERS = tuple(_in("in workers", fault, *_WORKERS) for fault in CATALOGUE)
AS_BOTTOM = tuple(_as_bottom(fault) for fault in RAISES + EXITS + HANGS + MEMORY if _can_be_bottom(fault))
CASES = IN_PROCESS + IN_WORKERS + AS_BOTTOM


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_a_fault_is_named_and_leaves_nothing(case: Fault, tell: Tell, shell: Shell, audit: Callable[..., Ran]) -> None:
    (shell.work / "mine.py").write_text(case.module())
    who = shell.run if case.kind in _ENDS else audit
    ran = who("check", "mine:learner", *_PLAN, *case.options, **dict(case.environment))
    complaints = ran.complaints(case.codes, case.words, needs_record=case.record)
    if ran.code in (0, 1) and ran.out.count(f"{'PASS' if ran.code == 0 else 'FAIL'}  mine:learner") != 1:
        complaints.append("standard output has not one verdict")
    if any(line.startswith("::") and "injected" in line for line in (ran.out + ran.err).splitlines()):
        complaints.append("a command of the subject's reached GitHub")
    tell(case.kind, ran.code, complaints, ran.left, f"{case.module()}\n{ran.err[-3000:]}\n{ran.out[-3000:]}")


def test_the_catalogue_is_large_and_its_names_are_unique() -> None:
    assert len(IN_PROCESS) >= 120
    assert len(IN_WORKERS) >= 120
    assert len({case.id for case in CASES}) == len(CASES)
    for place in ("in process", "in workers"):
        assert sum(case.ci for case in CASES if case.kind.startswith(place)) >= 10
