"""The process that runs another version of a subject: started by `other_version` alone, ended when that is gone.

It has this package loaded before anything else, whatever the old code brings under the same name.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import sys
from json import dumps
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import msgspec

from auditor.errors import AuditorError, SubjectError, in_words
from auditor.lookup import module_of
from auditor.process.limits import one_thread
from auditor.process.parent import become_subreaper, die_with_parent, end_children
from auditor.subjects.closeness import Tolerance
from auditor.subjects.elements import compare
from auditor.subjects.outcome import describe, fingerprint, settle
from auditor.subjects.subject import Subject, load_subject
from auditor.subjects.views import View, make_view
from auditor.subjects.views.partition import matched
from auditor.trials.second_server import receive, send
from auditor.trials.trial import Bench, PairKeys

_INSTALLED = ("site-packages", "dist-packages")


def main(descriptor: int) -> None:
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)  # whoever started it ends it
    die_with_parent()
    become_subreaper()
    link = socket.socket(fileno=descriptor)
    code = 1
    try:
        with contextlib.suppress(OSError):
            _serve(link)
        code = 0
    finally:
        end_children(patience=0.0)
        os._exit(code)


def _serve(link: socket.socket) -> None:
    """Load, then one run after the other, until whoever asks is gone."""
    import cloudpickle

    # From our own parent through a socket: it is as trustworthy as this process.
    packed = receive(link)
    try:
        bench, subject = _settle(cloudpickle.loads, packed)
        said = {"file": _file(subject), "versions": _versions()}
    except BaseException as error:
        send(link, dumps(_raised(error)).encode())
        return
    first: Any = None
    with one_thread():
        while True:
            send(link, dumps(said).encode())
            message = receive(link)
            try:
                index, which, watched, sample = cloudpickle.loads(message)
                said, first = _run(bench, index, which, sample, first, watched=watched)
            except BaseException as error:
                said, first = _raised(error), None


def _raised(error: BaseException) -> dict[str, Any]:
    """One of our own errors has what it says, and what the subject raised below it."""
    cause = error.__cause__ if isinstance(error, AuditorError) and error.__cause__ else error
    details = error.details if isinstance(error, AuditorError) else ""
    words = str(error) if isinstance(error, AuditorError) and not details else in_words(cause)
    return {"raised": words, "details": details}


def _settle(unpack: Any, packed: bytes) -> tuple[Bench, Subject]:
    sys.path.insert(0, os.getcwd())
    head = unpack(packed)
    sys.path[:] = [*head["path"], *(() if head["whole_path"] else sys.path)]
    importlib.invalidate_caches()
    subject = load_subject(head["target"], head["params"], texts=head["texts"], randomness=head["randomness"])
    _check_place(subject, head)
    if head["counted"] and not subject.takes_sample:
        raise SubjectError(f"{subject.name} takes rows, and the new version takes counts: use --sample rows")
    view = make_view(head["view"] if head["view"] else head["sees"])
    bench = Bench(
        subject,
        None,  # type: ignore[arg-type]  # samples come from the other side
        head["size"],
        PairKeys(*head["keys"]),
        counted=head["counted"],
        judges=False,
        view=view if head["probe"] is None else view.on_probe(head["probe"]),
        shares_private=head["shares_private"],
        within=head["within"],
    )
    return bench, subject


def _file(subject: Subject) -> str | None:
    """Where the module is that the target names something of."""
    return getattr(module_of(subject.target), "__file__", None)


def _check_place(subject: Subject, head: dict[str, Any]) -> None:
    """Old code must come from where it was checked out, and none of the new with it."""
    inside, outside, file = head["inside"], head["outside"], _file(subject)
    if inside is None:
        return
    trap = "what is installed, or on PYTHONPATH, would be compared with itself"
    if file is None or not _is_in(file, inside):
        raise SubjectError(
            f"it was loaded from {file or 'no file'}, which is not in the checkout of the old revision: {trap}; run "
            "this where a Python finds the code in the folder itself, in src, or by its file's path"
        )
    for module in [*sys.modules.values()]:
        found = getattr(module, "__file__", None)
        if found and _is_in(found, outside) and not _is_in(found, inside) and not _is_ours(module, found):
            raise SubjectError(
                f"it imports {module.__name__} from {found}, which is the new code: {trap}; uninstall it, or put it on "
                "the path as a folder of the repository"
            )


def _is_in(file: str, folder: str) -> bool:
    return Path(os.path.realpath(file)).is_relative_to(folder)


def _is_ours(module: ModuleType, file: str) -> bool:
    return module.__name__.partition(".")[0] == "auditor" or any(part in _INSTALLED for part in Path(file).parts)


def _versions() -> dict[str, str]:
    """Of Python, and of what is loaded of installed packages."""
    from importlib.metadata import packages_distributions, version

    tops = {name.partition(".")[0] for name, one in sys.modules.items() if getattr(one, "__file__", None)}
    known = packages_distributions()
    names = {dist for top in tops for dist in known.get(top, ())}
    return {"python": sys.version.split()[0], **{name: version(name) for name in sorted(names)}}


def _run(bench: Bench, index: int, which: int, sample: Any, first: Any, *, watched: bool) -> tuple[dict[str, Any], Any]:
    """One run; of a pair's second one also how it differs from the first, which is handed on."""
    started = perf_counter()
    output = bench.run_on(sample, index, which)
    seconds = perf_counter() - started
    settled = settle(bench.see(output))
    said = {"print": fingerprint(settled), "seconds": seconds, "shown": describe(settled)}
    if which == 0:
        return said, (index, settled)
    if first and first[0] == index:
        said |= _compared(bench, first[1], settled, watched=watched)
    return said, None


def _compared(bench: Bench, first: Any, second: Any, *, watched: bool) -> dict[str, Any]:
    found = bench.difference(first, second)
    told = found and {"path": found.path, "left": found.left, "right": found.right}
    if not watched:
        return {"difference": told}
    return {"difference": told, "elements": elements_of(bench.view, bench.within, first, second, differs=bool(found))}


def elements_of(view: View, within: Tolerance | None, first: Any, second: Any, *, differs: bool) -> Any:
    """Which elements differ; of labels those that do after the names that fit best have been matched."""
    names = matched(first, second) if differs and view.is_partition and len(first) == len(second) else None
    found = compare(first, second, differs=differs, by_rows=bool(view.rows), within=within, matched=names)
    return msgspec.to_builtins(found)
