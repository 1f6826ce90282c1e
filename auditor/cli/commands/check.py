"""check: one subject, or all that a package declares."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import rich_click as click

from auditor.cli.commands.question import EXIT_CODES, SOURCE_OR_INPUT, ask_one, asking_options
from auditor.cli.options import TableCommand, Typed, read_typed
from auditor.cli.running import running_code
from auditor.cli.several import audit_in_turn, confidence_of, report_together, settled_together, time_of
from auditor.errors import UsageError

_ANY = {"eta": 0.5, "nu": 0.5}  # for a string that is run again: it gets no verdict, and only its runs matter


def _options() -> Iterator[click.Option]:
    from auditor.flow.question import check_table

    return asking_options(check_table(), many=True, cell_word=SOURCE_OR_INPUT)


def _check(target: str, **options: Any) -> int:
    """Do two runs on fresh data give the same output, but for a probability that you accept? Runs the code of TARGET.

    TARGET is a function A(sample, r) or an estimator with fit, as a class or an object: module:name, file.py:name, or a
    name that "list" shows. A file.py alone will do if it has one of them. A package or module audits every subject that
    it declares, each against its expectation.

    The options choose the question. The usual one is whether rho is at most --rho. --help-all shows those that ask
    another one, e.g. whether an answer generalises (--loss), or how many predictions change (--measure churn).

    Example: python -m auditor check algorithms.controls:first_bit --source "bernoulli(0.5)" --rho 0.2
    """
    typed = read_typed(options)
    if ":" not in target and _is_package(target):
        return _check_package(target, typed)
    if "replay" in typed.given and "runs" in typed.given:
        typed.given.update({name: value for name, value in _ANY.items() if name not in typed.given})
    return ask_one(None, target, typed)


_target = click.RichArgument(["target"])
check = TableCommand(
    "check",
    help=f"{cleandoc(_check.__doc__ or '')}\n\n{EXIT_CODES}",
    callback=_check,
    params=[_target],
    options=_options,
)


def _is_package(target: str) -> bool:
    """Return whether a target means everything that a package declares. A name that a table has needs no code."""
    from auditor.host.boundary import run_in_host
    from auditor.lookup import is_package, registered_subjects

    if target in registered_subjects(runs=False):
        return False
    with running_code():
        return run_in_host(is_package, target)


def _check_package(package: str, typed: Typed) -> int:
    """Audit every subject by its declarations; only --confidence, --seed and options about running apply to all."""
    from auditor.engine.engine import RUN_OPTIONS
    from auditor.questions.several import declared_in
    from auditor.request import as_flag

    own = [as_flag(name) for name in typed.given if name not in (*RUN_OPTIONS, "confidence", "seed")]
    own = [*(["--source"] if typed.sources else []), *own, *(["--param"] if typed.texts else [])]
    if own:
        raise UsageError(
            f"{', '.join(own)} is for one subject, and {package} declares several: write {package}:function"
        )
    confidence = confidence_of(typed.given)
    seconds = time_of(typed.given)
    with running_code() as log:
        settled = settled_together([subject.name for subject in declared_in(package)], typed.given)
        records = audit_in_turn(settled, log, seconds=seconds)
    return report_together(records, log, len(settled), typed.files, confidence, verbose=typed.verbose)
