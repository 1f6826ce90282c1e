"""Which two versions are compared? The new one as `check` would audit it, and the old one: another target, another
parameter, an earlier revision, or another environment."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import UsageError
from auditor.flow.wobbles import WATCHED
from auditor.process.worktree import Worktree, check_out
from auditor.questions.compare.units import versioned_pair
from auditor.request import Request
from auditor.subjects.subject import Subject, load_subject, param_text
from auditor.trials.cell import Cell, given_probe, make_cell
from auditor.trials.identity import params_as_texts
from auditor.trials.other_version import Version
from auditor.trials.second_server import entrust
from auditor.trials.user_code import code_of, user_code

NEW, OLD = 0, 1  # cells
# The child of the seed that pairs are below. No check runs on them: on pairs that were looked at because the old code
# failed on them, any new code looks better.
KEYS = ("compare",)
_INSTALLED = ("site-packages", "dist-packages")


class Versions(msgspec.Struct, frozen=True):
    """Both cells, what each is called, and the checkout of the old one, which is to be removed in the end."""

    cells: tuple[Cell, Cell]
    words: tuple[str, str]
    told: Mapping[str, Any]  # what tells the old one from any other
    worktree: Worktree | None = None


def settle_versions(request: Request) -> Versions:
    """Everything checked; UsageError where nothing says what the old version is, or nothing can be run."""
    options = request.options
    _check(request)
    subject = _load(request, request.subject, options.params, request.texts)
    cell = make_cell("compare", subject, request.source, options)
    cell = replace(cell, judged=False, command="compare", path=KEYS, watched=WATCHED, unit=versioned_pair)
    if options.against is None and options.old_python is None:
        return _both_here(request, cell)
    worktree = check_out(options.against) if options.against is not None else None
    if worktree:
        entrust(os.path.dirname(worktree.folder))
    try:
        return _elsewhere(request, cell, worktree)
    except BaseException:
        if worktree:
            worktree.close()
        raise


def _check(request: Request) -> None:
    options = request.options
    given = [options.old, options.against, options.old_param, options.old_python]
    if not any(one is not None for one in given):
        raise UsageError(
            "compare needs an old version: compare OLD NEW, or compare TARGET with --against REV, --old-param K=V or "
            "--old-python PATH"
        )
    is_elsewhere = options.against is not None or options.old_python is not None
    if is_elsewhere and options.old is not None and not isinstance(options.old, str):
        raise UsageError("old is a function, and against and old_python load old code by its name: give a target")
    if options.private == "both":
        raise UsageError("--private both asks two questions: with compare give shared or unshared")
    if options.cluster is not None and is_elsewhere:
        raise UsageError(
            f"--cluster {options.cluster} has workers elsewhere, where there is neither the checkout of --against nor "
            "the Python of --old-python: use --jobs"
        )


def _load(request: Request, target: Any, params: Mapping[str, Any], texts: Mapping[str, str]) -> Subject:
    return load_subject(target, params, texts=texts, randomness=request.options.randomness)


def _both_here(request: Request, cell: Cell) -> Versions:
    """Two targets, or one with other parameters: both run as any subject does."""
    options, changed = request.options, request.options.old_param or {}
    target = request.subject if options.old is None else options.old
    params = {**options.params, **changed}
    old = _load(request, target, params, _without(request.texts, changed))
    if cell.sample_kind == "counts" and not old.takes_sample:
        raise UsageError(f"{old.name} takes rows, and the new version takes counts: use --sample rows")
    code = code_of(user_code(replace(cell, subject=old), None))  # type: ignore[arg-type]
    told = {"target": old.name, "params": params_as_texts(params), "files": code.files}
    words = ["--old", old.target or old.name] if options.old is not None else []
    cells = _named(cell, replace(cell, subject=old), [*words, *_param_words(changed)])
    names = cell.subject.name, ", ".join([old.name, *_with(changed)])
    return Versions(cells, names, {**told, "versions": code.versions})


def _with(params: Mapping[str, Any]) -> list[str]:
    return [f"with {' '.join(f'{name}={param_text(value)}' for name, value in params.items())}"] if params else []


def _without(texts: Mapping[str, str], others: Mapping[str, Any]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if name not in others}


def _param_words(params: Mapping[str, Any]) -> list[str]:
    return [word for name, value in params.items() for word in ("--old-param", f"{name}={param_text(value)}")]


def _named(new: Cell, old: Cell, words: Sequence[str]) -> tuple[Cell, Cell]:
    """With what a command needs to run one of their trials again."""
    again = tuple(map(shlex.quote, words))
    return (
        replace(new, name="new", again=(*again, "--cell", str(NEW))),
        replace(old, name="old", again=(*again, "--cell", str(OLD))),
    )


def _elsewhere(request: Request, cell: Cell, worktree: Worktree | None) -> Versions:
    options, changed = request.options, request.options.old_param or {}
    target = _target(request, cell)
    version = Version(
        words=options.against or options.old_python,
        target=target if worktree is None else _in_checkout(target, worktree),
        python=_python(options.old_python),
        folder=worktree.here(os.getcwd()) if worktree else os.getcwd(),
        path=[*_path(worktree, own=options.old_python is None)],
        params={**options.params, **changed},
        texts=_without(request.texts, changed),
        randomness=options.randomness,
        probe=given_probe(cell),
        inside=worktree.folder if worktree else None,
        outside=worktree.top if worktree else None,
        whole_path=options.old_python is None,
    )
    if worktree and not os.path.isdir(version.folder):
        raise UsageError(f"--against {options.against} has no folder {os.getcwd()}: it was made later; go up to one")
    words = [
        *(["--old", str(options.old)] if options.old is not None else []),
        *(["--against", worktree.commit] if worktree else []),
        *(["--old-python", options.old_python] if options.old_python is not None else []),
        *_param_words(changed),
    ]
    told = {"target": target, "commit": worktree.commit if worktree else None, "python": options.old_python}
    told |= {"params": params_as_texts(changed)} if changed else {}
    cells = _named(cell, replace(cell, unit=version, looks=False), words)
    return Versions(cells, (cell.subject.name, _called(request, worktree)), told, worktree)


def _target(request: Request, cell: Cell) -> str:
    if request.options.old is not None:
        return str(request.options.old)
    if cell.subject.target is None:
        raise UsageError(
            f"{cell.subject.name} lives in no module, and old code is loaded by its name: write it into a file"
        )
    return cell.subject.target


def _in_checkout(target: str, worktree: Worktree) -> str:
    """A path to a file of the repository leads to the same file there."""
    place, colon, name = target.rpartition(":")
    return f"{worktree.here(place)}{colon}{name}" if place.endswith(".py") else target


def _python(given: str | None) -> str:
    if given is None:
        return sys.executable
    found = Path(given)
    found = found / "bin" / "python" if found.is_dir() else found
    if not (found.is_file() and os.access(found, os.X_OK)):
        raise UsageError(f"--old-python {given} is no Python: give its path, or the folder of its environment")
    return str(found.absolute())


def _path(worktree: Worktree | None, *, own: bool) -> Iterator[str]:
    """The checkout's folders first; then, for the same Python, what is on the path here, as it is in the checkout."""
    here = os.getcwd()
    if worktree:
        places = (here, os.path.join(here, "src"), worktree.top, os.path.join(worktree.top, "src"))
        yield from dict.fromkeys(map(worktree.here, places))
    else:
        yield here
    if own:
        move = partial(_moved, worktree) if worktree else str
        yield from (move(place or here) for place in sys.path)


def _moved(worktree: Worktree, place: str) -> str:
    """Folders of the repository are those of the checkout; an environment that is in it stays."""
    real = os.path.realpath(place)
    kept = (os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix))
    if any(part in _INSTALLED for part in Path(real).parts) or any(map(Path(real).is_relative_to, kept)):
        return place
    return worktree.here(place)


def _called(request: Request, worktree: Worktree | None) -> str:
    """The old version, to a person."""
    options = request.options
    words = [str(options.old)] if options.old is not None else []
    if worktree:
        is_whole = worktree.commit == options.against
        words.append(worktree.commit if is_whole else f"{options.against} ({worktree.commit[:10]})")
    if options.old_python is not None:
        words.append(f"by {options.old_python}")
    return ", ".join([*words, *_with(options.old_param or {})])
