"""What was audited? A `Case`: everything that a trial depends on besides its index, as data.

A case is made once, by `trials.identity.case_of`, and stands in the record and in the ledger. Whoever needs to know
whether two audits are about the same thing asks `differs`: resume, the ledger's history, the baseline, `compare` of two
records and replay. Which fields may differ for which of them is one table, `FIELDS`, beside the struct.

What only says how to run (workers, timeout, cluster, ledger, report files) is no part of a case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from json import dumps
from typing import Any, NamedTuple

import msgspec


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One audited configuration. All values are JSON; a digest stands for what is too large to be written out."""

    question: str = "rho"  # whose trials these are
    target: str  # the subject
    code: str | None = None  # a digest of the file that defines the subject
    files: dict[str, str] = {}  # the files that it imports, each with a digest
    versions: dict[str, str] = {}  # the installed packages that it imports
    settings: str | None = None  # a digest of what it holds besides its code: closures, defaults, settings
    params: dict[str, str] = {}  # the parameters that were given, as texts
    randomness: str = "Generator"  # the type of r
    private: str | None = None  # "shared" or "unshared", where the subject has private randomness
    source: str  # what samples are drawn from
    source_code: str | None = None  # a digest of a function that draws them, and of files that the subject has not
    data: str | None = None  # a digest of the rows of a data set
    size: int  # rows in a sample
    sample: str = "rows"  # or "counts"
    resample: str | None = None  # how samples are taken from a data set
    as_: str | None = msgspec.field(default=None, name="as")  # the library whose table a file is read as
    view: str = "output"  # what of an output counts
    view_code: str | None = None  # a digest of the functions that look at it
    probe: int | str | None = None  # the points on which predictions are compared
    probe_data: str | None = None  # a digest of their rows, where a file has them
    atol: float = 0.0  # how far apart two numbers may be and still count as the same
    rtol: float = 0.0  # the same, as a share of the larger one
    scale: float | None = None  # how far apart two numbers are that count as wholly different
    score: str | None = None  # how outputs are scored; None: by their own score, where they have one
    score_code: str | None = None  # a digest of the function that scores them
    on_error: str = "stop"  # what becomes of a run that raises
    memory: int | None = None  # bytes that a run may take
    seed: int = 0  # from which all randomness is derived
    path: tuple[str, ...] = ()  # which child of the seed's key the trials' keys are derived from

    def __reduce__(self) -> tuple[Any, ...]:
        return case_from, (self.to_json(),)  # a field at its default is left out, in every process alike

    def key(self) -> str:
        """Return a digest of all fields: two cases with one key have the same trials."""
        return blake2b(dumps(self.to_json(), sort_keys=True).encode(), digest_size=16).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are not at their defaults, by their names in JSON."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        # msgspec leaves out a text only if it is the very object of the default, which a text from elsewhere is not.
        usual = {one.encode_name: one.default for one in msgspec.structs.fields(Case)}
        return {name: value for name, value in document.items() if value != usual[name]}

    def argv(self, declared: Mapping[str, object] | None = None) -> list[str] | None:
        """Return the words after a command's name that make this case again; None where only Python can.

        A field that has its value in `declared` is left out: the subject says it. What a replay takes from nobody, the
        memory limit and what becomes of a run that raises, is left out too.
        """
        texts = (self.target, self.source, self.view, self.score or "", *self.params.values())
        if any(map(_ONLY_IN_PYTHON.search, texts)):
            return None
        unsaid = {**_UNSAID, **(declared or {})}
        words = [self.target]
        for name in _UNSAID:
            value = getattr(self, name)
            words += [] if value in (None, unsaid[name]) else [FIELDS[name].words, str(value)]
        words += [word for name, text in self.params.items() for word in ("--param", f"{name}={text}")]
        return words + ([] if self.randomness == "Generator" else ["--randomness", self.randomness])

    def differs(self, other: Case, user: str) -> list[str]:
        """Describe every field in which the two cases differ, unless the table lets it differ for `user`."""
        apart = [name for name in FIELDS if getattr(self, name) != getattr(other, name)]
        apart = [name for name in apart if name not in _CONTENT or not self._is_moved(other, name)]
        if "files" in apart and user not in FIELDS["files"].may_differ_for:  # then the files themselves are named
            apart = [name for name in apart if name not in ("code", "source_code", "view_code")]
        return [
            phrase
            for name in apart
            if user not in FIELDS[name].may_differ_for
            for phrase in _phrases(FIELDS[name].words, getattr(self, name), getattr(other, name))
        ]

    def _is_moved(self, other: Case, name: str) -> bool:
        """True if two paths lead to files of one name with the same content: another spelling, or another folder."""
        was, now = getattr(self, name), getattr(other, name)
        content = getattr(self, _CONTENT[name])
        is_known = bool(content) and content == getattr(other, _CONTENT[name])
        return is_known and isinstance(was, str) and isinstance(now, str) and file_name(was) == file_name(now)


# The fields that may be paths, each with the one that says what is in the file.
_CONTENT = {"target": "files", "source": "data", "probe": "probe_data"}


def file_name(text: str) -> str:
    """Return a target or a data file without its folder: learner.py:fit, data.csv#label."""
    return text.rpartition("/")[2]


def case_from(document: Any) -> Case:
    """Read a case from its JSON; msgspec.ValidationError with the field that is wrong."""
    return msgspec.convert(document, Case)


class Field(NamedTuple):
    """What a field is called in a message, and for whom two cases may differ in it."""

    words: str
    may_differ_for: tuple[str, ...] = ()


# A later version of the subject is what a comparison, a history and a baseline are about; a replay says that it has
# changed. Only a comparison takes another subject, or another type of r, for the new version of the old one.
_VERSIONS = ("compare", "history", "baseline", "replay")
_OVER_TIME = ("history", "baseline", "replay")
FIELDS: Mapping[str, Field] = {
    "question": Field("the question"),
    "target": Field("the subject", ("compare",)),
    "code": Field("the subject's own file", _VERSIONS),
    "files": Field("its files", _VERSIONS),
    "versions": Field("its packages", _VERSIONS),
    "settings": Field("the values that the subject holds", _VERSIONS),
    "params": Field("--param", ("compare",)),
    "randomness": Field("--randomness", ("compare",)),
    "private": Field("--private"),
    "source": Field("--source"),
    "source_code": Field("the source's code", _OVER_TIME),
    "data": Field("the source's data", _OVER_TIME),
    "size": Field("--size"),
    "sample": Field("--sample"),
    "resample": Field("--resample"),
    "as_": Field("--as"),
    "view": Field("--view"),
    "view_code": Field("the view's code", _OVER_TIME),
    "probe": Field("--probe"),
    "probe_data": Field("the probe's data", _OVER_TIME),
    "atol": Field("--atol"),
    "rtol": Field("--rtol"),
    "scale": Field("--scale", ("history", "baseline")),  # which changes churn alone
    "score": Field("--score", ("compare", "history", "baseline")),  # who counts mismatches has them whatever is scored
    "score_code": Field("the score's code", _VERSIONS),
    "on_error": Field("--on-error", ("replay",)),
    "memory": Field("--memory", ("replay",)),
    "seed": Field("--seed", ("compare", "history", "baseline")),
    "path": Field("the keys of the trials"),
}


# The options in the order of a command, each with the value that it has where nobody gives it.
_UNSAID: Mapping[str, object] = {
    "source": None,
    "size": None,
    "sample": "rows",
    "resample": "bootstrap",
    "as_": None,
    "view": "output",
    "probe": None,
    "atol": 0.0,
    "rtol": 0.0,
    "scale": None,
    "score": None,
    "private": "unshared",
    "seed": 0,
}
IN_PYTHON = "(in Python)"  # behind a name that no command line takes; a digest, where no name leads there at all
_ONLY_IN_PYTHON = re.compile(r" ([0-9a-f]{32}|\(in Python\))(?!\S)")
_LONGEST = 200  # characters of a value in a message


def _phrases(words: str, was: Any, now: Any) -> Iterator[str]:
    """Say how one field differs. Each file and package that differs is named; a digest would tell nobody anything."""
    if isinstance(was, dict) and words != "--param":
        for name in sorted(name for name in {**was, **now} if was.get(name) != now.get(name)):
            if name not in was or name not in now:
                yield f"{name} (imported only in the {'second' if name in now else 'first'})"
            elif words == "its packages":
                yield f"{name}: {was[name]} and {now[name]}"
            else:
                yield f"{name} (it has changed)"
    elif words.endswith("holds"):
        yield f"{words} (they have changed)"
    elif words.endswith(("file", "data", "code")):
        yield f"{words} (it has changed)"
    elif _shown(was) == _shown(now):
        yield f"{words}: both are {_shown(was)}, but their code or the values that they hold differ"
    else:
        yield f"{words}: {_shown(was)} and {_shown(now)}"


def _shown(value: Any) -> str:
    """Return a value as a person reads it, without digests."""
    if isinstance(value, dict):
        text = " ".join(f"{name}={one}" for name, one in sorted(value.items())) or "none"
    elif value is None or (value == 0.0 and isinstance(value, float)):
        text = "none"
    else:
        text = f"{value:g}" if isinstance(value, float) else str(value)
    text = _ONLY_IN_PYTHON.sub("", text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
