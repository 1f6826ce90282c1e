"""check, of one subject or all that a package declares; and a command for any other question, ours and anyone's.

Such a command has its options from the question's table, and its help from the question's docstring.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.cli.options import TableCommand, Typed, option_of, read_typed, report_options, source_option
from auditor.cli.output import deliver, error_console, make_console, plain, tell_github
from auditor.cli.running import running_code
from auditor.cli.several import audit_in_turn, confidence_of, report_together, settled_together, time_of
from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.request import Listed, Request


SOURCE_OR_INPUT = "source or input"
EXIT_CODES = "Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 the subject could not be audited, 130 interrupted."


def command_words(name: str, home: str) -> str:
    """Return the help of a question, from its docstring."""
    words = _docstring(home) or f"Ask the question {name} of TARGET."
    if "Example:" not in words:
        words += f"\n\nExample: python -m auditor {name} module:function"
    return words if "Exit codes:" in words else f"{words}\n\n{EXIT_CODES}"


@functools.cache  # click asks for each several times
def make_command(name: str, home: str) -> TableCommand:
    """Return the command of a question that is registered as `home`, module:Class, without importing it."""

    def asked(target: str, **options: Any) -> int:
        return ask_one(name, target, read_typed(options))

    target, words = click.RichArgument(["target"]), command_words(name, home)
    return TableCommand(name, help=words, callback=asked, params=[target], options=lambda: options_of(name))


def _docstring(home: str) -> str:
    """Return the docstring of a class, or of its module, read from the file without importing it.

    The lines of the class alone are parsed first, which is quicker; they are no whole class where a docstring has lines
    that are not indented, say, and then the file is parsed.
    """
    module, _, name = home.partition(":")
    with contextlib.suppress(OSError, ValueError, ImportError, SyntaxError):
        source = _file(module).read_bytes()
        with contextlib.suppress(SyntaxError):
            alone = re.search(rb"^class %s\b.*\n(?:(?:[ \t].*)?\n)*" % name.encode(), source, re.MULTILINE)
            if words := _docstring_in(ast.parse(alone[0] if alone else b""), name):
                return words
        tree = ast.parse(source)
        return _docstring_in(tree, name) or ast.get_docstring(tree) or ""
    return ""


def _docstring_in(tree: ast.Module, name: str) -> str | None:
    """Return the docstring of a class in a parsed module; None if it has none."""
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return ast.get_docstring(found[0]) if found else None


def _file(module: str) -> Path:
    """Return the file of a module; only the package above it is looked up, so that none of them is imported."""
    top, *inner = module.split(".")
    spec = find_spec(top)
    if spec is None or spec.origin is None:
        raise ImportError(module)
    path = Path(spec.origin).parent.joinpath(*inner) if inner else Path(spec.origin)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def options_of(name: str) -> Iterator[click.Option]:
    """Yield the options of the command of a question, which is imported for it."""
    from auditor.flow.question import find_question
    from auditor.request import OverCells, listed

    question = find_question(name)
    many = issubclass(question.Options, OverCells)
    cell_word = question.cell_word or (SOURCE_OR_INPUT if many else "")
    yield from asking_options(listed(question.Options), many=many, cell_word=cell_word, refused=question.refused)


def asking_options(
    table: Mapping[str, Listed], *, many: bool, cell_word: str, refused: Collection[str] = ()
) -> Iterator[click.Option]:
    """Yield all options of a command that asks: --source, the table's, those of replays and of reports.

    Those that a question refuses are read, so that it can say why, and not shown; so is --cell where there is one cell.
    """
    from auditor.request import GROUPS, RUN, Listed

    yield source_option(many=many, several=cell_word == SOURCE_OR_INPUT)
    again = "Run pair I again, show both outputs, and do nothing else (default: no replay)."
    cell = f"With --replay: the number of the {cell_word}, from 0 (default: 0, if there is only one)."
    every = [
        *table.values(),
        Listed("replay", (int,), None, again, "I", RUN, False),
        Listed("cell", (int,), None, cell, "J", RUN, False),
    ]
    hidden = {*refused, *(() if cell_word else ("cell",))}
    for group in GROUPS:
        yield from (option_of(one, hidden=one.name in hidden) for one in every if one.group == group)
    yield from report_options()


def ask_one(question: str | None, target: str, typed: Typed) -> int:
    """Ask, or show one trial again, and return the exit code; without a question the options choose one."""
    import msgspec

    from auditor.engine.engine import RUN_OPTIONS
    from auditor.escape import brief
    from auditor.flow.question import make_request
    from auditor.lookup import existing_file, is_program
    from auditor.request import as_flag

    replay, cell = typed.given.pop("replay", None), typed.given.pop("cell", None)
    if replay is None and cell is not None:
        raise UsageError(f"--cell {cell} goes with --replay: which pair of it is to be run again?")
    if replay is not None:
        words = [*typed.files, *(as_flag(name) for name in typed.given if name in RUN_OPTIONS)]
        if words:
            raise UsageError(f"{' and '.join(words)} and --replay do not go together: a replay makes no record")
        typed.given["accept_overlap"] = True  # a replay passes no verdict
    request = make_request(question, target, typed.sources, typed.given, texts=typed.texts)
    request = msgspec.structs.replace(request, typed=typed.words)
    place = target if target.endswith(".py") else target.rpartition(":")[0]
    if place.endswith(".py") and not is_program(target):
        existing_file(Path(place))  # what is not there is not said to run
    error_console().print(plain(f"loading {brief(target)}: this runs its code", "dim"))
    if replay is not None:
        return _show_again(request, replay, cell)
    return _answered(request, typed.files, verbose=typed.verbose)


def _answered(request: Request, files: Mapping[str, str], *, verbose: bool) -> int:
    """Carry a request out and report; return the exit code."""
    from msgspec.structs import replace

    from auditor.flow.question import find_question
    from auditor.flow.run import carry_out, run_options_of
    from auditor.host.boundary import do_meanwhile

    options = run_options_of(request)
    with running_code() as log:
        do_meanwhile(lambda: import_module("auditor.report.terminal"))
        inquiry = find_question(request.question).begin(request)
        from auditor.flow.remedies import with_remedies
        from auditor.report.progress import Watching
        from auditor.report.terminal import show

        with Watching(error_console(), options.for_) as watch:
            record = carry_out(inquiry, request, replace(options, log=log.file), watch)
            record = with_remedies(request, record, watch)
    confidence = request.options.confidence
    draw = functools.partial(show, record, verbose=verbose)
    out = deliver([record], files, draw, confidence=confidence, single=True)
    log.tell(out)
    tell_github([record], files, confidence)
    return record.exit_code


def _show_again(request: Request, index: int, cell: int | None) -> int:
    """Run one trial again and show it."""
    from auditor.flow.run import replayed
    from auditor.report.terminal import show_parts

    with running_code() as log:
        parts = replayed(request, index, cell)
    log.tell(error_console())
    show_parts(parts, make_console())
    return 0


_ANY = {"eta": 0.5, "nu": 0.5}  # for a string that is run again: it gets no verdict, and only its runs matter


def _options() -> Iterator[click.Option]:
    """Yield the options of check: those of all questions that it chooses from."""
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
