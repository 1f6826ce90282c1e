"""The commands: parse, call the pipeline, draw, exit. Nothing heavy is imported until a command runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor import __version__
from auditor.errors import EXIT_CODES, AuditorError, BadValue, UsageError
from auditor.outlets import (
    check_writable,
    complain,
    console,
    error_console,
    on_github,
    stdout_kept,
    take_files,
    write_reports,
)

if TYPE_CHECKING:
    from auditor.report.escape import HeldCommands
    from auditor.report.record import Record
    from auditor.setup import Setup

click.rich_click.TEXT_MARKUP = None
click.rich_click.MAX_WIDTH = 100


class Count(click.ParamType[int]):
    """A whole number, written 1000, 1_000 or 1e6."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from decimal import Decimal, InvalidOperation  # 1e23 as it is written, not as a float has it

        try:
            number = Decimal(value)
            if number == number.to_integral_value():
                if number.adjusted() >= 30:
                    return self.fail(f"{value!r} is beyond 1e30: use a smaller number", param, ctx)
                return int(number)
        except (InvalidOperation, ValueError, OverflowError):
            pass
        return self.fail(f"{value!r} must be a whole number, e.g. 1000 or 1e6", param, ctx)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="auditor")
def cli() -> None:
    """Does an algorithm's answer survive fresh data?

    A learner A(sample, r) is rho-reproducible if two runs on independent samples with the same internal randomness r
    give the same output except with probability rho. auditor measures it.

    Example: python -m auditor check algorithms.statistical_query:rstat
    """


@cli.command()
@click.argument("target")
@click.option("--source", metavar="SPEC", help='Where samples come from: "norm", module:fn, data.csv#label.')
@click.option("--size", type=Count(), metavar="M", help="Rows a sample; 1e6 is understood.")
@click.option("--sample", metavar="KIND", help="Samples as rows, or as counts over the values of a discrete source.")
@click.option("--rho", type=float, metavar="R", help="The mismatch probability you accept.  [default: claimed, or 0.1]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="How sure the verdict must be.")
@click.option("--pairs", type=Count(), metavar="MAX", help="Stop undecided after so many pairs.  [default: 100 / rho]")
@click.option("--fixed", type=Count(), metavar="N", help="Run exactly N pairs and judge once, instead.")
@click.option("--seed", type=Count(), default=0, show_default=True, help="Root of all randomness.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter of the subject; repeatable.")
@click.option(
    "--view", metavar="SPEC", help="What of the output counts: round(3), sign, argmax, top(5), attr(name), predict."
)
@click.option(
    "--probe", metavar="N|FILE", help="Points that predictions are compared on.  [default: 1000 from the source]"
)
@click.option("--gate", metavar="WHAT", default="rho", show_default=True, help="What the target is for: rho, or churn.")
@click.option("--resample", metavar="HOW", help="How a data set is drawn from: bootstrap, split or subsample.")
@click.option("--randomness", metavar="KIND", help="What r is: Generator, int, RandomState or Random.")
@click.option("--replay", type=Count(), metavar="I", help="Run pair I again and show both outputs, nothing else.")
@click.option("--json", "json_file", metavar="FILE", help="Write the record here; - is standard output.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML here; - is standard output.")
@click.option("--markdown", "markdown_file", metavar="FILE", help="Write a summary here; - is standard output.")
def check(target: str, params: Sequence[str], randomness: str | None, **options: Any) -> int:
    """Audit TARGET: module:fn, path/to/file.py:fn, or a name that "list" shows. Runs its code.

    A package or module audits every subject that it declares, each against its expectation.

    Example: python -m auditor check algorithms.controls:first_bit --source "bernoulli(0.5)" --rho 0.2

    Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 the subject could not be audited, 130 interrupted.
    """
    from rich.text import Text

    from auditor.lookup import is_package
    from auditor.report.escape import visible
    from auditor.setup import make_setup
    from auditor.subjects import load_subject

    if is_package(target):
        return _check_package(target, {**options, "param": params or None, "randomness": randomness})
    pair, files = options.pop("replay"), take_files(options)
    if pair is not None and files:
        raise UsageError(f"{' and '.join(files)} and --replay do not go together: a replay makes no record")
    if pair is not None and pair < 0:
        raise BadValue("replay", pair, "must be the number of a pair, 0 or more")
    error_console().print(Text(f"loading {visible(target)}: this runs its code", style="dim"))
    with stdout_kept():
        subject = load_subject(target, texts=_split_params(params), randomness=randomness)
        options["probe"] = _count_or_file(options["probe"])
        setup = make_setup(subject, options.pop("source"), **options)
    if pair is not None:
        return _replay(setup, pair)
    return _audit(setup, files)


@cli.command()
@click.argument("record_file", metavar="RECORD", type=click.Path(path_type=Path))
@click.option("--pair", type=Count(), required=True, metavar="I", help="Which pair to run again.")
def replay(record_file: Path, pair: int) -> int:
    """Run one pair of a recorded audit again and show both outputs. Runs the subject's code.

    Example: python -m auditor replay record.json --pair 17
    """
    from auditor.report.record import read_record
    from auditor.setup import make_setup
    from auditor.subjects import code_hash, load_subject

    record = read_record(record_file)
    if not record.importable:
        raise UsageError(
            f"{record.subject}, its source, view or a parameter lives in no module: replay it in Python, "
            f"auditor.replay(fn, ..., pair={pair})"
        )
    texts = {name: str(value) for name, value in record.params.items()}
    randomness = None if record.randomness == "Generator" else record.randomness
    with stdout_kept():
        subject = load_subject(record.subject, texts=texts, randomness=randomness)
    if record.code_hash != code_hash(subject.fn):
        error_console().print("warning: the code has changed since this record was made", style="yellow")
    setup = make_setup(
        subject,
        record.source,
        size=record.size,
        seed=record.seed,
        rho=record.target,
        sample=record.sample_kind,
        view=record.view,
        probe=record.probe,
        resample=record.resample,
    )
    return _replay(setup, pair)


@cli.command()
@click.option("--rho", type=float, default=0.1, show_default=True, help="The target of the gate.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="How sure the verdict must be.")
@click.option("--pairs", type=Count(), metavar="MAX", help="The budget.  [default: 100 / rho]")
def plan(rho: float, confidence: float, pairs: int | None) -> int:
    """What a gate costs: exact expected pairs and the share left undecided, for a range of true rho.

    Example: python -m auditor plan --rho 0.05
    """
    from auditor.plan import make_plan
    from auditor.report.prospects import prospects

    out = console()
    for part in prospects(make_plan(target=rho, size=0, confidence=confidence, pairs=pairs)):
        out.print(part)
    return 0


@cli.command("list")
def list_subjects() -> int:
    """Every registered subject with its theorem, claimed rho and size.

    Example: python -m auditor list
    """
    from auditor.report.registry import registry

    out = console()
    for part in registry():
        out.print(part)
    return 0


@cli.command()
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of all verdicts together.")
@click.option("--seed", type=Count(), default=0, show_default=True, help="Root of all randomness.")
@click.option("--only", metavar="TEXT", help="Only the subjects whose name or theorem contains this.")
@click.option("--reports", "folder", metavar="DIR", default="reports", show_default=True, help="Where the table goes.")
def theorems(confidence: float, seed: int, only: str | None, folder: str) -> int:
    """Audit every registered subject that names a theorem, at the theorem's size; writes theorems.json, .md and .svg.

    Example: python -m auditor theorems
    """
    from auditor.panel import make_setups, with_theorem
    from auditor.report.record import to_json_list
    from auditor.report.theorems import markdown, picture

    directory = Path(folder)
    files = {kind: directory / f"theorems.{kind}" for kind in ("json", "md", "svg")}
    _make_folder(directory)
    for file in files.values():
        check_writable(str(file), "--reports")
    with stdout_kept():
        chosen = [s for s in with_theorem() if not only or only in s.name or only in str(s.declared.theorem)]
    if not chosen:
        raise UsageError(f"--only {only} leaves no subject: python -m auditor list shows them")
    records = _audit_several(make_setups(chosen, confidence=confidence, seed=seed), confidence)
    files["json"].write_bytes(to_json_list(records))
    files["md"].write_text(markdown(records, confidence), encoding="utf-8")
    files["svg"].write_text(picture(records), encoding="utf-8")
    console().print(f"written: {', '.join(str(file) for file in files.values())}")
    return _several_code(records)


@cli.command()
@click.option(
    "--config", metavar="FILE", default="pyproject.toml", show_default=True, help="Where the audits are listed."
)
@click.option("--exitfirst", is_flag=True, help="Stop at the first that does not end as expected.")
@click.option("--json", "json_file", metavar="FILE", help="Write the records here; - is standard output.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML here.")
@click.option("--markdown", "markdown_file", metavar="FILE", help="Write a summary in markdown here.")
def gate(config: str, exitfirst: bool, **options: Any) -> int:
    """Audit every [[tool.auditor.subject]] of a project with one error budget, each against its expectation.

    Example: python -m auditor gate --exitfirst
    """
    from auditor.config import make_setups, read_config

    files = take_files(options)
    asked = read_config(Path(config))
    with stdout_kept():
        setups = make_setups(asked)
    records = _audit_several(setups, asked.confidence, to_error="-" in files.values(), exitfirst=exitfirst)
    write_reports(records, [setup.subject for setup in setups[: len(records)]], files, asked.confidence)
    return _several_code(records)


def _make_folder(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make --reports {directory}: {error.strerror or error}") from error


def _check_package(target: str, options: dict[str, Any]) -> int:
    from auditor.panel import declared_in, make_setups

    confidence, seed = options.pop("confidence"), options.pop("seed")
    files = take_files(options)
    options["gate"] = None if options["gate"] == "rho" else options["gate"]
    given = [f"--{name}" for name, value in options.items() if value is not None]
    if given:
        raise UsageError(
            f"{', '.join(given)} is for one subject, and {target} declares several: write {target}:function"
        )
    with stdout_kept():
        subjects = declared_in(target)
        setups = make_setups(subjects, confidence=confidence, seed=seed)
    records = _audit_several(setups, confidence, to_error="-" in files.values())
    write_reports(records, subjects, files, confidence)
    return _several_code(records)


def _audit_several(
    setups: Sequence[Setup], confidence: float, *, to_error: bool = False, exitfirst: bool = False
) -> list[Record]:
    """Audit in turn with a bar over all; an interrupt ends with a table of what was finished."""
    from auditor.panel import audit_all, is_as_expected
    from auditor.report.progress import WatchingSeveral
    from auditor.report.table import summary

    records: list[Record] = []
    with stdout_kept(), WatchingSeveral(error_console(), len(setups)) as watch:
        for record in audit_all(setups, watch.audit):
            records.append(record)
            if record.decided_by == "interrupt" or (exitfirst and not is_as_expected(record)):
                break
    out = error_console() if to_error else console()
    for part in summary(records, confidence, len(setups)):
        out.print(part)
    return records


def _several_code(records: Sequence[Record]) -> int:
    from auditor.panel import exit_code

    return EXIT_CODES["interrupted"] if records[-1].decided_by == "interrupt" else exit_code(records)


def _count_or_file(probe: str | None) -> int | str | None:
    try:
        return None if probe is None else Count().convert(probe, None, None)
    except click.BadParameter:
        return probe


def _split_params(params: Sequence[str]) -> dict[str, str]:
    texts = {}
    for word in params:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--param {word} must be NAME=VALUE, e.g. --param tau=0.1")
        texts[name] = text
    return texts


def _audit(setup: Setup, files: dict[str, str]) -> int:
    from auditor.pipeline import run_audit
    from auditor.report.progress import Watching
    from auditor.report.terminal import show

    with stdout_kept(), Watching(error_console()) as watch:
        record = run_audit(setup, watch)
    show(record, error_console() if "-" in files.values() else console())
    write_reports([record], [setup.subject], files, setup.plan.confidence, single=True)
    return EXIT_CODES["interrupted" if record.decided_by == "interrupt" else record.verdict]


def _replay(setup: Setup, pair: int) -> int:
    from auditor.pipeline import replay_setup
    from auditor.report.replayed import show_replay

    with stdout_kept():
        replayed = replay_setup(setup, pair)
    show_replay(replayed, console())
    return 0


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; whatever goes wrong becomes a sentence on standard error."""
    from auditor.report.escape import HeldCommands

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # a replaced stream may not know how
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.path.insert(0, os.getcwd())
    held = HeldCommands(sys.stderr if on_github() else None)
    try:
        return _run(arguments, held)
    finally:
        held.release(sys.stderr)


def _run(arguments: Sequence[str] | None, held: HeldCommands) -> int:
    try:
        return int(cli.main(arguments, prog_name="auditor", standalone_mode=False, obj=held) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_CODES["interrupted"]
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CODES["error"]
    except AuditorError as error:
        complain(error.as_option() if isinstance(error, BadValue) else str(error), error.details)
        return error.exit_code
    except Exception as error:
        complain(f"auditor itself failed, please report it: {type(error).__name__}: {error}")
        return EXIT_CODES["error"]
