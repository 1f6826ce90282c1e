"""The commands: parse, call the pipeline, draw, exit. Nothing heavy is imported until a command runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor import __version__
from auditor.errors import EXIT_CODES, AuditorError, BadValue, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from auditor.report.record import Record
    from auditor.setup import Setup
    from auditor.subjects import Subject

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
@click.option("--source", metavar="SPEC", help='Where samples come from: "bernoulli(0.5)", module:fn, file.py:fn.')
@click.option("--size", type=Count(), metavar="M", help="Rows a sample; 1e6 is understood.")
@click.option("--sample", metavar="KIND", help="Samples as rows, or as counts over the values of a discrete source.")
@click.option("--rho", type=float, metavar="R", help="The mismatch probability you accept.  [default: claimed, or 0.1]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="How sure the verdict must be.")
@click.option("--pairs", type=Count(), metavar="MAX", help="Stop undecided after so many pairs.  [default: 100 / rho]")
@click.option("--fixed", type=Count(), metavar="N", help="Run exactly N pairs and judge once, instead.")
@click.option("--seed", type=Count(), default=0, show_default=True, help="Root of all randomness.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter of the subject; repeatable.")
@click.option("--randomness", metavar="KIND", help="What r is: Generator, int, RandomState or Random.")
@click.option("--replay", type=Count(), metavar="I", help="Run pair I again and show both outputs, nothing else.")
@click.option("--json", "json_file", metavar="FILE", help="Write the record here; - is standard output.")
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
    pair, json_file = options.pop("replay"), options.pop("json_file")
    if pair is not None and json_file is not None:
        raise UsageError("--json and --replay do not go together: a replay makes no record")
    if pair is not None and pair < 0:
        raise BadValue("replay", pair, "must be the number of a pair, 0 or more")
    _check_writable(json_file)
    _error_console().print(Text(f"loading {visible(target)}: this runs its code", style="dim"))
    with _stdout_kept():
        subject = load_subject(target, texts=_split_params(params), randomness=randomness)
        setup = make_setup(subject, options.pop("source"), **options)
    if pair is not None:
        return _replay(setup, pair)
    return _audit(setup, json_file)


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
            f"{record.subject} lives in no module: replay it in Python, auditor.replay(fn, ..., pair={pair})"
        )
    texts = {name: str(value) for name, value in record.params.items()}
    with _stdout_kept():
        subject = load_subject(record.subject, texts=texts, randomness=record.randomness)
    if record.code_hash != code_hash(subject.fn):
        _error_console().print("warning: the code has changed since this record was made", style="yellow")
    setup = make_setup(
        subject, record.source, size=record.size, seed=record.seed, rho=record.target, sample=record.sample_kind
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

    console = _console()
    for part in prospects(make_plan(target=rho, size=0, confidence=confidence, pairs=pairs)):
        console.print(part)
    return 0


@cli.command("list")
def list_subjects() -> int:
    """Every registered subject with its theorem, claimed rho and size.

    Example: python -m auditor list
    """
    from auditor.report.registry import registry

    console = _console()
    for part in registry():
        console.print(part)
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
    from auditor.panel import exit_code, with_theorem
    from auditor.report.record import to_json_list
    from auditor.report.theorems import markdown, picture

    directory = Path(folder)
    files = {kind: directory / f"theorems.{kind}" for kind in ("json", "md", "svg")}
    _make_folder(directory)
    for file in files.values():
        _check_writable(str(file), "--reports")
    with _stdout_kept():
        chosen = [s for s in with_theorem() if not only or only in s.name or only in str(s.declared.theorem)]
    if not chosen:
        raise UsageError(f"--only {only} leaves no subject: python -m auditor list shows them")
    records = _audit_several(chosen, confidence, seed)
    files["json"].write_bytes(to_json_list(records))
    files["md"].write_text(markdown(records, confidence), encoding="utf-8")
    files["svg"].write_text(picture(records), encoding="utf-8")
    _console().print(f"written: {', '.join(str(file) for file in files.values())}")
    return exit_code(records)


def _make_folder(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make --reports {directory}: {error.strerror or error}") from error


def _check_package(target: str, options: dict[str, Any]) -> int:
    from auditor.panel import declared_in, exit_code
    from auditor.report.record import to_json_list

    confidence, seed, json_file = (options.pop(name) for name in ("confidence", "seed", "json_file"))
    given = [f"--{name}" for name, value in options.items() if value is not None]
    if given:
        raise UsageError(
            f"{', '.join(given)} is for one subject, and {target} declares several: write {target}:function"
        )
    _check_writable(json_file)
    with _stdout_kept():
        subjects = declared_in(target)
    records = _audit_several(subjects, confidence, seed, to_error=json_file == "-")
    if json_file:
        _write(to_json_list(records), json_file)
    return exit_code(records)


def _audit_several(
    subjects: Sequence[Subject], confidence: float, seed: int, *, to_error: bool = False
) -> list[Record]:
    """Audit in turn with a bar over all; an interrupt ends with a table of what was finished."""
    from auditor.panel import audit_all
    from auditor.report.progress import WatchingSeveral
    from auditor.report.table import summary

    records: list[Record] = []
    with _stdout_kept(), WatchingSeveral(_error_console(), len(subjects)) as watch:
        for record in audit_all(subjects, confidence=confidence, seed=seed, watch=watch.subject):
            records.append(record)
            if record.decided_by == "interrupt":
                break
    console = _error_console() if to_error else _console()
    for part in summary(records, confidence):
        console.print(part)
    if records[-1].decided_by == "interrupt":
        raise KeyboardInterrupt
    return records


def _split_params(params: Sequence[str]) -> dict[str, str]:
    texts = {}
    for word in params:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--param {word} must be NAME=VALUE, e.g. --param tau=0.1")
        texts[name] = text
    return texts


def _audit(setup: Setup, json_file: str | None) -> int:
    from auditor.pipeline import run_audit
    from auditor.report.progress import Watching
    from auditor.report.record import to_json
    from auditor.report.terminal import show

    with _stdout_kept(), Watching(_error_console()) as watch:
        record = run_audit(setup, watch)
    show(record, _error_console() if json_file == "-" else _console())
    if json_file:
        _write(to_json(record), json_file)
    return EXIT_CODES["interrupted" if record.decided_by == "interrupt" else record.verdict]


def _replay(setup: Setup, pair: int) -> int:
    from auditor.pipeline import replay_setup
    from auditor.report.replayed import show_replay

    with _stdout_kept():
        replayed = replay_setup(setup, pair)
    show_replay(replayed, _console())
    return 0


@contextlib.contextmanager
def _stdout_kept() -> Iterator[None]:
    """Whatever the subject writes to standard output, by whichever way, goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _check_writable(file: str | None, option: str = "--json") -> None:
    """Found out before the audit, not after it."""
    if file is None or file == "-":
        return
    path = Path(file)
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {option} {file}: {error.strerror or error}") from error
    if not existed:
        path.unlink()


def _write(document: bytes, file: str) -> None:
    if file == "-":
        sys.stdout.buffer.write(document)
        sys.stdout.flush()
        return
    try:
        Path(file).write_bytes(document)
    except OSError as error:
        raise UsageError(f"cannot write --json {file}: {error.strerror or error}; the report above is whole") from error


def _make_console(**options: Any) -> Console:
    from rich.console import Console

    class Patient(Console):
        """A reader that has gone away changes no exit code; rich itself would exit with 1, which is a verdict."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return Patient(highlight=False, **options)


def _console() -> Console:
    return _make_console()


def _error_console() -> Console:
    return _make_console(stderr=True)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; whatever goes wrong becomes a sentence on standard error."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # a replaced stream may not know how
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.path.insert(0, os.getcwd())
    try:
        return int(cli.main(arguments, prog_name="auditor", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_CODES["interrupted"]
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CODES["error"]
    except AuditorError as error:
        _complain(error.as_option() if isinstance(error, BadValue) else str(error), error.details)
        return error.exit_code
    except Exception as error:
        _complain(f"auditor itself failed, please report it: {type(error).__name__}: {error}")
        return EXIT_CODES["error"]


def _complain(message: str, details: str = "") -> None:
    from rich.text import Text

    from auditor.report.escape import visible

    console = _error_console()
    if details:
        console.print(Text(visible(details, keep="\n")), soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), visible(message, keep="\n")), soft_wrap=True)
