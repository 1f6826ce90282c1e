"""check, where Definition 1.1 for one source is not the question: (eta, nu), stability, the worst source or input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from auditor.cli.options import Count
from auditor.cli.outlets import console, deliver, documents_of, prints_logged, stdout_kept, tell_github
from auditor.errors import EXIT_CODES, UsageError
from auditor.files import check_writable

if TYPE_CHECKING:
    from auditor.engine.engine import How
    from auditor.flow.pipeline import Watcher
    from auditor.flow.record import Record
    from auditor.subjects.inputs import Inputs
    from auditor.subjects.subject import Subject
    from auditor.trials.setup import Setup

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
    from auditor.subjects.inputs import read_inputs

    if "inputs" not in asked:
        return {}
    asked["inputs"] = read_inputs(asked["inputs"], options["seed"])
    return {asked["inputs"].name: asked["inputs"].values[0]}


@dataclass(frozen=True, slots=True)
class Question:
    """A settled question: either something to audit, or something to show again."""

    setup: Setup
    run: Callable[[Watcher, How], Record] | None = None
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
        if "loss" in asked or "delta" in asked:
            raise UsageError(f"{_listed(asked)} is for one source and one input: give them one at a time")
        return _worst_question(subject, options, asked, replay=replay, **worst)
    if worst["arm"] is not None:
        raise UsageError(f"--arm {worst['arm']} goes with --replay and several sources or inputs")
    if not asked:
        return _plain_question(subject, options, replay)
    if "loss" in asked or "delta" in asked:
        return _loss_question(subject, options, asked, replay)
    return _profile_question(subject, options, asked, replay)


def _sides_question(subject: Subject, options: dict[str, Any]) -> Question:
    from auditor.questions.side_by_side import make_sides, run_sides

    sides = make_sides(subject, options.pop("source"), **options)
    return Question(sides[0], run=lambda watch, how: run_sides(sides, watch, how))


def _loss_question(subject: Subject, options: dict[str, Any], asked: dict[str, Any], replay: int | None) -> Question:
    from auditor.questions.generalise import make_loss_setup, run_loss

    if "loss" not in asked:
        raise UsageError("--delta goes with --loss: add e.g. --loss module:fn, called fn(output, rows)")
    others = {name: value for name, value in asked.items() if name not in ("loss", "delta")}
    if others or replay is not None:
        raise UsageError(f"--loss does not go with {_listed(others) or '--replay'}: leave one of them out")
    setup = make_loss_setup(subject, options.pop("source"), **asked, **options)
    return Question(setup, run=lambda watch, how: run_loss(setup, watch, how))


def _plain_question(subject: Subject, options: dict[str, Any], replay: int | None) -> Question:
    from auditor.flow.pipeline import run_audit
    from auditor.trials.setup import make_setup

    setup = make_setup(subject, options.pop("source"), **options)
    if replay is None:
        return Question(setup, run=lambda watch, how: run_audit(setup, watch, how))
    return Question(setup, show_again=lambda: _show_pair(setup, replay))


def _listed(asked: dict[str, Any]) -> str:
    return " and ".join(f"--{name}" for name in asked)


def _worst_question(
    subject: Subject,
    options: dict[str, Any],
    asked: dict[str, Any],
    *,
    sources: tuple[str, ...] | None,
    inputs: Inputs | None,
    arm: int | None,
    replay: int | None,
) -> Question:
    from auditor.questions.worst_case import make_cases, run_worst

    if replay is None and arm is not None:
        raise UsageError(f"--arm {arm} goes with --replay: which pair of it is to be run again?")
    if replay is None and asked:
        return _worst_profile_question(subject, options, asked, sources or [options.pop("source")], inputs)
    runs = asked.pop("runs", None)
    if asked:
        raise UsageError(f"{_listed(asked)} does not go with --replay: it takes --arm, and --runs for a whole string")
    cases = make_cases(subject, sources or [options["source"]], inputs, **_without_source(options))
    if replay is None:
        return Question(cases[0].setup, run=lambda watch, how: run_worst(cases, watch, how))
    if arm is None or not 0 <= arm < len(cases):
        raise UsageError(f"--replay {replay} of which arm? Give --arm J, from 0 to {len(cases) - 1}")
    setup = cases[arm].setup
    if runs is not None:
        return Question(setup, show_again=lambda: _show_string(setup, replay, runs))
    return Question(setup, show_again=lambda: _show_pair(setup, replay))


def _without_source(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "source"}


def _worst_profile_question(
    subject: Subject, options: dict[str, Any], asked: dict[str, Any], sources: Sequence[object], inputs: Inputs | None
) -> Question:
    from auditor.questions.grouped import make_group_setup
    from auditor.questions.worst_case import make_cases
    from auditor.questions.worst_profile import run_worst_groups

    picture = _take_profile(options, asked, None)
    cases = make_cases(subject, sources, inputs, make=make_group_setup, **asked, **_without_source(options))
    return Question(cases[0].setup, run=lambda watch, how: run_worst_groups(cases, watch, how), figure=picture)


def _show_pair(setup: Setup, pair: int) -> None:
    from auditor.flow.pipeline import replay_setup
    from auditor.report.replayed import show_replay

    with stdout_kept():
        replayed = replay_setup(setup, pair)
    show_replay(replayed, console())


def _profile_question(subject: Subject, options: dict[str, Any], asked: dict[str, Any], replay: int | None) -> Question:
    from auditor.questions.grouped import make_group_setup, run_groups
    from auditor.trials.setup import make_setup

    if replay is not None and set(asked) == {"runs"}:
        again = make_setup(subject, options.pop("source"), **options)
        return Question(again, show_again=lambda: _show_string(again, replay, asked["runs"]))
    picture = _take_profile(options, asked, replay)
    setup = make_group_setup(subject, options.pop("source"), **asked, **options)
    return Question(setup, run=lambda watch, how: run_groups(setup, watch, how), figure=picture)


def _take_profile(options: dict[str, Any], asked: dict[str, Any], replay: int | None) -> str | None:
    """Where the picture goes; what does not belong to a profile is refused, and taken out of the options."""
    pairs, rho, gate = (options.pop(name) for name in ("pairs", "rho", "gate"))
    _refuse({"--pairs": pairs, "--rho": rho, "--replay": replay, "--gate": None if gate == "rho" else gate})
    missing = [name for name in ("eta", "nu") if name not in asked]
    if missing:
        others = {name: value for name, value in asked.items() if name not in ("eta", "nu")}
        words = f"{_listed(others)} goes with --eta and --nu" if others else f"{_listed(asked)} is half of a question"
        raise UsageError(f"{words}: add e.g. --{missing[0]} 0.1")
    picture: str | None = asked.pop("svg", None)
    if picture == "-":
        raise UsageError("--svg - would mix a picture with the report: name a file, e.g. profile.svg")
    check_writable(picture, "--svg")
    return picture


def _show_string(setup: Setup, string: int, runs: int) -> None:
    from auditor.questions.grouped import replay_group
    from auditor.report.replayed import show_group

    with stdout_kept():
        found = replay_group(setup, string, runs)
    show_group(string, runs, found, console())


def _refuse(given: dict[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            cure = {"--pairs": ": use --strings", "--rho": ": use --nu", "--replay": ": use --runs alone"}
            raise UsageError(f"{option} {value} does not go with --eta{cure.get(option, '')}")


def answer(question: Question, files: dict[str, str], how: How) -> int:
    """Carry a question out and report; or show again what was asked for."""
    from auditor.report.profile_figure import profile_picture
    from auditor.report.progress import Watching
    from auditor.report.terminal import show

    if question.show_again:
        question.show_again()
        return 0
    assert question.run is not None
    with prints_logged() as (log, ours), Watching(ours) as watch:
        record = question.run(watch, replace(how, log=log.file))
    confidence = question.setup.plan.confidence
    documents = {
        **documents_of([record], confidence, single=True),
        "--svg": lambda: profile_picture(record).encode("utf-8", "backslashreplace"),
    }
    pictures = {"--svg": question.figure} if question.figure else {}
    deliver(documents, {**files, **pictures}, lambda out: show(record, out), log)
    tell_github([record], [question.setup.subject], files, confidence)
    return EXIT_CODES["interrupted" if record.decided_by == "interrupt" else record.verdict]
