"""What runs in the host of another version of a subject: it loads the old code, and runs it on samples that it is sent.

The host has this package loaded before anything else, whatever the old code brings under the same name.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from auditor.errors import SubjectError
from auditor.host.limits import stay_with_one_thread
from auditor.lookup import module_of
from auditor.subjects.own_code import is_installed
from auditor.subjects.programs import program_in
from auditor.subjects.subject import Subject, load_subject
from auditor.subjects.views import make_view
from auditor.trials.trial import Bench, elements_of
from auditor.values import Difference, describe, fingerprint, settle

if TYPE_CHECKING:
    from auditor.trials.other_version import Version


class VersionRun(msgspec.Struct, frozen=True):
    """What one run of another version gave; of a pair's second run also how it differs from the first."""

    fingerprint: str = "no output"
    shown: str = "no output"
    seconds: float = 0.0
    difference: Difference | None = None
    elements: Any = None  # which elements differ, as JSON
    bottom: str = ""  # why there is no output


class _Loaded(msgspec.Struct):
    bench: Bench
    first: tuple[int, Any] | None = None  # the pair that is under way, and what counts of its first output


_loaded: list[_Loaded] = []


def load_version(
    version: Version, bench: Bench, view: Any, points: Any, numbers: tuple[int, ...] | None
) -> dict[str, str]:
    """Load the old code, and return the versions of what it has loaded.

    `bench` is that of the new version, without what belongs to its own process. `points` are the rows that predictions
    are compared on, and `numbers` where they stand in the data set.
    """
    importlib.invalidate_caches()
    texts, randomness = version.texts, version.randomness
    subject = load_subject(version.target, version.params, texts=texts, randomness=randomness).with_names(version.names)
    if version.inside and version.outside:
        _check_place(subject, version.inside, version.outside)
    if bench.counted and not subject.takes_sample:
        raise SubjectError(f"{subject.name} takes rows, and the new version takes counts: use --sample rows")
    seen = make_view(view)
    seen = seen if points is None else seen.on_probe(points, numbers)
    _loaded[:] = [_Loaded(replace(bench, subject=subject, view=seen))]
    return _versions()


def run_version(index: int, which: int, sample: Any, *, watched: bool) -> VersionRun:
    """Run the old code once."""
    loaded = _loaded[0]
    bench, before = loaded.bench, loaded.first
    loaded.first = None
    stay_with_one_thread()
    started = perf_counter()
    output = bench.run_on(sample, index, which)
    seconds = perf_counter() - started
    settled = settle(bench.see(output))
    found = VersionRun(fingerprint(settled), describe(settled), seconds)
    if which == 0:
        loaded.first = index, settled
    elif before and before[0] == index:
        difference = bench.difference(before[1], settled)
        elements = elements_of(bench, before[1], settled, difference) if watched else None
        return replace(found, difference=difference, elements=elements)
    return found


def _check_place(subject: Subject, inside: str, outside: str) -> None:
    """Raise SubjectError unless the old code comes from where it was checked out, and none of the new with it."""
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
    """True if a file is in a folder, once links are followed."""
    return Path(os.path.realpath(file)).is_relative_to(folder)


def _is_ours(module: ModuleType, file: str) -> bool:
    """True if a module is auditor's own, or was installed: it is the same for both versions."""
    return module.__name__.partition(".")[0] == "auditor" or is_installed(Path(file))


def _versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that are loaded."""
    from importlib.metadata import packages_distributions, version

    tops = {name.partition(".")[0] for name, one in sys.modules.items() if getattr(one, "__file__", None)}
    known = packages_distributions()
    names = {dist for top in tops for dist in known.get(top, ())}
    return {"python": sys.version.split()[0], **{name: version(name) for name in sorted(names)}}
