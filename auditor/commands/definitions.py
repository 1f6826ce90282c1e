"""check, where Definition 1.1 for one source is not the question: (eta, nu), stability, the worst source or input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from auditor.commands.options import Count
from auditor.errors import EXIT_CODES, BadValue, UsageError
from auditor.outlets import check_writable, console, error_console, stdout_kept, write_reports

if TYPE_CHECKING:
    from auditor.inputs import Inputs
    from auditor.pipeline import Watcher
    from auditor.report.record import Record
    from auditor.setup import Setup
    from auditor.subjects import Subject

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--eta", type=float, metavar="E", help="With --nu: how often a good r may give another output."),
    click.option("--nu", type=float, metavar="V", help="With --eta: the share of r that need not be good."),
    click.option("--beta", type=float, metavar="B", help="With --eta: share of r whose answer may be inaccurate."),
    click.option("--runs", type=Count(), metavar="K", help="With --eta: runs with each r.  [default: 2 / eta]"),
    click.option("--strings", type=Count(), metavar="MAX", help="With --eta: at most so many r.  [default: 100 / nu]"),
    click.option("--svg", metavar="FILE", help="With --eta: write nu(eta) as a picture here."),
    click.option("--inputs", metavar="SPEC", help='Gate on the worst x: "[3, 5]", "n=range(9)", a file, module:fn.'),
    click.option("--private", metavar="HOW", help="For A(sample, r, private): both, shared or unshared."),
    click.option(
        "--loss", metavar="FN", help="Count runs that break R(h) <= R^(h) + slack; module:fn, fn(output, rows)."
    ),
    click.option("--delta", type=float, metavar="D", help="With --loss: how often by chance.  [default: 0.05]"),
    click.option("--arm", type=Count(), metavar="J", help="With --replay: which source or input, from 0."),
)
_NAMES = ("eta", "nu", "beta", "runs", "strings", "svg", "inputs", "private", "loss", "delta", "arm")


def definition_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def take_asked(options: dict[str, Any]) -> dict[str, Any]:
    """What was given of the options here, taken out of `options`; the source becomes a single one again."""
    asked = {name: value for name in _NAMES if (value := options.pop(name)) is not None}
    sources = options.pop("source")
    options["source"] = sources[0] if sources else None
    return {**asked, "sources": sources} if len(sources) > 1 else asked


def without_sources(asked: dict[str, Any]) -> dict[str, Any]:
    """What was asked besides the sources, of which the options still have one."""
    return {name: value for name, value in asked.items() if name != "sources"}


def first_input(asked: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The first of the inputs as a parameter, since a subject may not be loaded without; reads them all."""
    from auditor.inputs import read_inputs

    if "inputs" not in asked:
        return {}
    asked["inputs"] = read_inputs(asked["inputs"], options["seed"])
    return {asked["inputs"].name: asked["inputs"].values[0]}


@dataclass(frozen=True, slots=True)
class Question:
    """A settled question: either something to audit, or something to show again."""

    setup: Setup
    run: Callable[[Watcher], Record] | None = None
    show_again: Callable[[], None] | None = None
    figure: str | None = None


def make_question(subject: Subject, options: dict[str, Any], asked: dict[str, Any], replay: int | None) -> Question:
    """Settle what was asked, or say why it makes no question."""
    private = asked.pop("private", None)
    if not asked and replay is None and private in (None, "both"):
        return _sides_question(subject, options)
    if private == "both":
        raise UsageError("--private both compares two plain audits: with other questions give shared or unshared")
    options["private"] = private
    worst = {name: asked.pop(name, None) for name in ("sources", "inputs", "arm")}
    if worst["sources"] or worst["inputs"]:
        if asked:
            raise UsageError(f"{_listed(asked)} is for one source and one input: give them one at a time")
        return _worst_question(subject, options, replay=replay, **worst)
    if worst["arm"] is not None:
        raise UsageError(f"--arm {worst['arm']} goes with --replay and several sources or inputs")
    if not asked:
        return _plain_question(subject, options, replay)
    if "loss" in asked or "delta" in asked:
        return _loss_question(subject, options, asked, replay)
    return _profile_question(subject, options, asked, replay)


def _sides_question(subject: Subject, options: dict[str, Any]) -> Question:
    from auditor.side_by_side import make_sides, run_sides

    sides = make_sides(subject, options.pop("source"), **options)
    return Question(sides[0], run=lambda watch: run_sides(sides, watch))


def _loss_question(subject: Subject, options: dict[str, Any], asked: dict[str, Any], replay: int | None) -> Question:
    from auditor.generalise import make_loss_setup, run_loss

    if "loss" not in asked:
        raise UsageError("--delta goes with --loss: add e.g. --loss module:fn, called fn(output, rows)")
    others = {name: value for name, value in asked.items() if name not in ("loss", "delta")}
    if others or replay is not None:
        raise UsageError(f"--loss does not go with {_listed(others) or '--replay'}: leave one of them out")
    setup = make_loss_setup(subject, options.pop("source"), **asked, **options)
    return Question(setup, run=lambda watch: run_loss(setup, watch))


def _plain_question(subject: Subject, options: dict[str, Any], replay: int | None) -> Question:
    from auditor.pipeline import run_audit
    from auditor.setup import make_setup

    setup = make_setup(subject, options.pop("source"), **options)
    if replay is None:
        return Question(setup, run=lambda watch: run_audit(setup, watch))
    return Question(setup, show_again=lambda: _show_pair(setup, replay))


def _listed(asked: dict[str, Any]) -> str:
    return " and ".join(f"--{name}" for name in asked)


def _worst_question(
    subject: Subject,
    options: dict[str, Any],
    *,
    sources: tuple[str, ...] | None,
    inputs: Inputs | None,
    arm: int | None,
    replay: int | None,
) -> Question:
    from auditor.worst_case import make_cases, run_worst

    source = options.pop("source")
    cases = make_cases(subject, sources or [source], inputs, **options)
    if replay is None:
        if arm is not None:
            raise UsageError(f"--arm {arm} goes with --replay: which pair of it is to be run again?")
        return Question(cases[0].setup, run=lambda watch: run_worst(cases, watch))
    if arm is None or arm >= len(cases):
        raise UsageError(f"--replay {replay} of which arm? Add --arm J, from 0 to {len(cases) - 1}")
    setup = cases[arm].setup
    return Question(setup, show_again=lambda: _show_pair(setup, replay))


def _show_pair(setup: Setup, pair: int) -> None:
    from auditor.pipeline import replay_setup
    from auditor.report.replayed import show_replay

    with stdout_kept():
        replayed = replay_setup(setup, pair)
    show_replay(replayed, console())


def _profile_question(subject: Subject, options: dict[str, Any], asked: dict[str, Any], replay: int | None) -> Question:
    from auditor.grouped import make_group_setup, run_groups

    figure = asked.pop("svg", None)
    source, pairs, rho, gate = (options.pop(name) for name in ("source", "pairs", "rho", "gate"))
    if replay is not None and set(asked) == {"runs"}:
        return _replay_question(subject, source, options, asked["runs"], replay)
    _refuse({"--pairs": pairs, "--rho": rho, "--replay": replay, "--gate": None if gate == "rho" else gate})
    for name, other in (("eta", "nu"), ("nu", "eta")):
        if name not in asked:
            given = _listed(asked) or "--svg"
            raise UsageError(f"{given} goes with --eta and --nu, and --{name} is missing: add e.g. --{name} 0.1"
                             if other not in asked else f"--{other} needs --{name}: add e.g. --{name} 0.1")  # fmt: skip
    check_writable(figure, "--svg")
    setup = make_group_setup(subject, source, **asked, **options)
    return Question(setup, run=lambda watch: run_groups(setup, watch), figure=figure)


def _replay_question(subject: Subject, source: object, options: dict[str, Any], runs: int, string: int) -> Question:
    from auditor.grouped import replay_group
    from auditor.report.replayed import show_group
    from auditor.setup import make_setup

    if runs < 1:
        raise BadValue("runs", runs, "must be an integer of at least 1, e.g. 20")
    setup = make_setup(subject, source, **options)

    def show_again() -> None:
        with stdout_kept():
            found = replay_group(setup, string, runs)
        show_group(string, runs, found, console())

    return Question(setup, show_again=show_again)


def _refuse(given: dict[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            cure = {"--pairs": ": use --strings", "--rho": ": use --nu", "--replay": ": use --runs alone"}
            raise UsageError(f"{option} {value} does not go with --eta{cure.get(option, '')}")


def answer(question: Question, files: dict[str, str]) -> int:
    """Carry a question out and report; or show again what was asked for."""
    from auditor.report.profile_figure import profile_picture
    from auditor.report.progress import Watching
    from auditor.report.terminal import show

    if question.show_again:
        question.show_again()
        return 0
    assert question.run is not None
    with stdout_kept(), Watching(error_console()) as watch:
        record = question.run(watch)
    show(record, error_console() if "-" in files.values() else console())
    write_reports([record], [question.setup.subject], files, question.setup.plan.confidence, single=True)
    if question.figure:
        _write_figure(profile_picture(record), question.figure)
    return EXIT_CODES["interrupted" if record.decided_by == "interrupt" else record.verdict]


def _write_figure(picture: str, file: str) -> None:
    if file == "-":
        raise UsageError("--svg - would mix a picture with the report: name a file, e.g. profile.svg")
    try:
        Path(file).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write --svg {file}: {error.strerror or error}; the report is whole") from error
