"""Which two versions are compared? The new one as `check` would audit it, and the old one: another target, another
parameter, an earlier revision, or another environment. And what is a trial of either: a pair of its runs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from auditor.errors import UsageError
from auditor.files import start_folder, whole_path
from auditor.flow.one_pair import show_pair
from auditor.flow.parts import Listing, Part, Words
from auditor.host.server import entrust
from auditor.questions.cell_inquiries import load_asked
from auditor.questions.compare.worktree import Worktree, check_out
from auditor.request import Request
from auditor.subjects.own_code import code_of, user_code
from auditor.subjects.subject import param_text
from auditor.trials.cell import Cell, given_probe, make_cell
from auditor.trials.identity import params_as_texts
from auditor.trials.other_version import Version
from auditor.trials.trial import Bench, NoOutput, Trial, elements_of, timed_run, with_bottom
from auditor.values import fingerprint, settle
from auditor.values.elements import WATCHED

NEW, OLD = 0, 1  # cells
# The child of the seed that pairs are below. No check runs on them: on pairs that were looked at because the old code
# failed on them, any new code looks better.
KEYS = ("compare",)
_INSTALLED = ("site-packages", "dist-packages")
_NO_OUTPUT = "no output"


class Versions(msgspec.Struct, frozen=True):
    """Both cells, what each is called, and the checkout of the old one, which is to be removed in the end."""

    cells: tuple[Cell, Cell]
    names: tuple[str, str]
    identity: Mapping[str, Any]  # what tells the old one from any other
    worktree: Worktree | None = None


def settle_versions(request: Request) -> Versions:
    """Check everything, and return both versions; UsageError where nothing says what the old one is, or nothing can be
    run."""
    options = request.options
    is_elsewhere = options.against is not None or options.old_python is not None
    if options.old is None and options.old_param is None and not is_elsewhere:
        raise UsageError(
            "compare needs an old version: compare OLD NEW, or compare TARGET with --against REV, --old-param K=V or "
            "--old-python PATH"
        )
    if is_elsewhere and options.old is not None and not isinstance(options.old, str):
        raise UsageError("old is a function, and against and old_python load old code by its name: give a target")
    if options.private == "both":
        raise UsageError("--private both asks two questions: with compare give shared or unshared")
    if (options.cluster is not None or options.executor is not None) and is_elsewhere:
        who = "an executor may have" if options.cluster is None else f"--cluster {options.cluster} has"
        raise UsageError(
            f"{who} workers elsewhere, where there is neither the checkout of --against nor "
            "the Python of --old-python: use --jobs"
        )
    cell = make_cell("compare", load_asked(request, options.params), request.source, options)
    cell = replace(cell, judged=False, command="compare", path=KEYS, watched=WATCHED, unit=versioned_pair)
    if not is_elsewhere:
        return _both_here(request, cell)
    worktree = check_out(options.against) if options.against is not None else None
    if worktree:
        entrust(os.path.dirname(worktree.folder))
    try:
        return _old_elsewhere(request, cell, worktree)
    except BaseException:
        if worktree:
            worktree.close()
        raise


def _both_here(request: Request, cell: Cell) -> Versions:
    """Return two targets, or one with other parameters: both run as any subject does."""
    options, changed = request.options, request.options.old_param or {}
    target = request.subject if options.old is None else options.old
    params = {**options.params, **changed}
    texts = {name: text for name, text in request.texts.items() if name not in changed}
    old = load_asked(replace(request, subject=target, texts=texts), params)
    if cell.sample_kind == "counts" and not old.takes_sample:
        raise UsageError(f"{old.name} takes rows, and the new version takes counts: use --sample rows")
    code = code_of(user_code(replace(cell, subject=old), None))  # type: ignore[arg-type]
    words = ["--old", old.target or old.name] if options.old is not None else []
    identity = {"target": old.name, "params": params_as_texts(params), "files": code.files, "versions": code.versions}
    name = ", ".join([old.name, *_with(changed)])
    return Versions(_cells(cell, replace(cell, subject=old), words, changed), (cell.subject.name, name), identity)


def _with(params: Mapping[str, Any]) -> list[str]:
    """Return the parameters of the old version as words for its name."""
    return [f"with {' '.join(f'{name}={param_text(value)}' for name, value in params.items())}"] if params else []


def _cells(new: Cell, old: Cell, words: Sequence[str], changed: Mapping[str, Any]) -> tuple[Cell, Cell]:
    """Return both cells, each with the words that a command needs to run one of its trials again."""
    params = [word for name, value in changed.items() for word in ("--old-param", f"{name}={param_text(value)}")]
    again = tuple(map(shlex.quote, [*words, *params]))
    return (
        replace(new, name="new", again=(*again, "--cell", str(NEW))),
        replace(old, name="old", again=(*again, "--cell", str(OLD))),
    )


def _old_elsewhere(request: Request, cell: Cell, worktree: Worktree | None) -> Versions:
    """Return an old version that runs in a process of its own: from a checkout, by another Python, or both."""
    options, changed = request.options, request.options.old_param or {}
    target = cell.subject.target if options.old is None else str(options.old)
    if target is None:
        raise UsageError(
            f"{cell.subject.name} lives in no module, and old code is loaded by its name: write it into a file"
        )
    place, colon, name = target.rpartition(":")
    is_file = worktree is not None and place.endswith(".py")
    version = Version(
        words=options.against or options.old_python,
        target=f"{worktree.here(place)}{colon}{name}" if worktree and is_file else target,
        python=_python(options.old_python),
        folder=worktree.here(start_folder()) if worktree else start_folder(),
        path=[*_path(worktree, own=options.old_python is None)],
        params={**options.params, **changed},
        texts={name: text for name, text in request.texts.items() if name not in changed},
        randomness=options.randomness,
        probe=given_probe(cell),
        inside=worktree.folder if worktree else None,
        outside=worktree.top if worktree else None,
        whole_path=options.old_python is None,
    )
    if worktree and not os.path.isdir(version.folder):
        raise UsageError(f"--against {options.against} has no folder {start_folder()}: it was made later; go up to one")
    words, called = list[str](), list[str]()
    if options.old is not None:
        words += ["--old", str(options.old)]
        called.append(str(options.old))
    if worktree:
        words += ["--against", worktree.commit]
        is_whole = worktree.commit == options.against
        called.append(worktree.commit if is_whole else f"{options.against} ({worktree.commit[:10]})")
    if options.old_python is not None:
        words += ["--old-python", options.old_python]
        called.append(f"by {options.old_python}")
    identity = {"target": target, "commit": worktree.commit if worktree else None, "python": options.old_python}
    identity |= {"params": params_as_texts(changed)} if changed else {}
    cells = _cells(cell, replace(cell, unit=version, looks=False), words, changed)
    return Versions(cells, (cell.subject.name, ", ".join([*called, *_with(changed)])), identity, worktree)


def _python(given: str | None) -> str:
    """Return the interpreter that --old-python names; UsageError if it is none."""
    if given is None:
        return sys.executable
    found = Path(whole_path(given))
    found = found / "bin" / "python" if found.is_dir() else found
    if not (found.is_file() and os.access(found, os.X_OK)):
        raise UsageError(f"--old-python {given} is no Python: give its path, or the folder of its environment")
    return str(found.absolute())


def _path(worktree: Worktree | None, *, own: bool) -> Iterator[str]:
    """Return where old code is imported from: the checkout's folders first; then, for the same Python, what is on the
    path here, with folders of the repository replaced by those of the checkout."""
    here = start_folder()
    if worktree:
        places = (here, os.path.join(here, "src"), worktree.top, os.path.join(worktree.top, "src"))
        yield from dict.fromkeys(map(worktree.here, places))
    else:
        yield here
    environments = (os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix))
    for place in sys.path if own else ():
        path = Path(os.path.realpath(place or here))
        is_installed = any(part in _INSTALLED for part in path.parts) or any(map(path.is_relative_to, environments))
        # An environment that is in the repository stays as it is.
        yield place or here if is_installed or worktree is None else worktree.here(place or here)


def versioned_pair(bench: Bench, index: int, fell: Mapping[int, str]) -> Trial:
    """Run a pair here, as a trial with fingerprints of both outputs, which tell whether the versions differ.

    Outputs are fingerprinted as they come, since a second run may write into the first one's."""
    outputs, prints, seconds = list[Any](), list[str](), 0.0
    for which in (0, 1):
        output, more = timed_run(bench, index, which, fell)
        viewed = bench.see(output)
        outputs.append(viewed if type(viewed) is NoOutput else settle(viewed))
        prints.append(_NO_OUTPUT if type(viewed) is NoOutput else fingerprint(outputs[-1]))
        seconds += more
    payload: dict[str, Any] = {"prints": prints, "elements": None}
    if any(type(one) is NoOutput for one in outputs):
        return replace(with_bottom(bench, index, outputs, None, seconds), churn=None, payload=payload)
    difference = bench.difference(*outputs)
    if index < bench.watched:
        payload["elements"] = elements_of(bench, outputs[0], outputs[1], difference)
    return Trial(index, difference, None, seconds, payload=payload)


def show_again(bench: Bench, index: int) -> Iterator[Part]:
    """Run one pair of a version again and show it: here, or where the old code is."""
    if not isinstance(bench.unit, Version):
        yield from show_pair(bench, index)
        return
    shown, found = bench.unit.shown(bench, index)
    state = "SAME" if found is None else "DIFFERENT"
    yield Words(f"{state}  pair {index}, as of {bench.unit.words}", "title")
    if found is None:
        yield Listing("both outputs:", shown[:1])
        return
    yield from (Listing(f"{name} output:", [text]) for name, text in zip(("first", "second"), shown, strict=True))
    yield Listing(f"they first differ at {found.path}:", [found.left, found.right])
