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

from msgspec.structs import asdict

from auditor.errors import AuditorError, SubjectError, in_words
from auditor.lookup import module_of
from auditor.process.limits import one_thread
from auditor.process.parent import become_subreaper, die_with_parent, end_children
from auditor.subjects.programs import program_in
from auditor.subjects.subject import Subject, load_subject
from auditor.subjects.views import make_view
from auditor.trials.other_version import Version
from auditor.trials.second_server import receive, send
from auditor.trials.trial import Bench, elements_of
from auditor.trials.user_code import is_installed
from auditor.values import describe, fingerprint, settle


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
        bench = _settle(cloudpickle.loads, packed)
        said: dict[str, Any] = {"versions": _versions()}
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


def _settle(unpack: Any, packed: bytes) -> Bench:
    sys.path.insert(0, os.getcwd())
    head = unpack(packed)
    version: Version = head["version"]
    sys.path[:] = [*version.path, *(() if version.whole_path else sys.path)]
    importlib.invalidate_caches()
    subject = load_subject(version.target, version.params, texts=version.texts, randomness=version.randomness)
    subject = subject.with_names(head["names"])
    if version.inside and version.outside:
        _check_place(subject, version.inside, version.outside)
    if head["counted"] and not subject.takes_sample:
        raise SubjectError(f"{subject.name} takes rows, and the new version takes counts: use --sample rows")
    view = make_view(head["view"])
    return Bench(
        subject,
        None,  # type: ignore[arg-type]  # samples come from the other side
        head["size"],
        head["keys"],
        counted=head["counted"],
        judges=False,
        view=view if version.probe is None else view.on_probe(version.probe, head["numbers"]),
        shares_private=head["shares_private"],
        within=head["within"],
    )


def _check_place(subject: Subject, inside: str, outside: str) -> None:
    """Old code must come from where it was checked out, and none of the new with it."""
    trap = "what is installed, or on PYTHONPATH, would be compared with itself"
    if program := program_in(subject.fn):
        if not any(_is_in(path, inside) for _, path in program.files):
            raise SubjectError(f"none of its words names a file of the checkout of the old revision: {trap}")
        return
    file = getattr(module_of(subject.target), "__file__", None)
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
    return module.__name__.partition(".")[0] == "auditor" or is_installed(Path(file))


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
        found = bench.difference(first[1], settled)
        said["difference"] = found and asdict(found)
        said["elements"] = elements_of(bench, first[1], settled, found) if watched else None
    return said, None
