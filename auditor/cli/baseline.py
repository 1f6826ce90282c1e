"""The counts of earlier audits, in a file that a person can review: a block for each subject, in order.

    [[subject]]
    target = "mypackage.learners:fit"
    source = "data.csv#label"
    size = 100
    rho = 0.1
    confidence = 0.95
    seed = 0
    pairs = 1000
    mismatches = 87

A block is found by what was audited: target, source, size, view, parameters and whatever else changes rho. Blocks that
are not updated stay as they are, to the letter; a new one goes where it belongs in the order.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from json import dumps
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from auditor.case import FIELDS, Case
from auditor.errors import UsageError
from auditor.files import read_bytes, reason, write_bytes
from auditor.flow.record import NO_WORSE
from auditor.flow.run import run_options_of
from auditor.questions.no_worse import BaselineCounts, NoWorse
from auditor.trials.cell import source_of
from auditor.trials.identity import case_of

if TYPE_CHECKING:
    from auditor.flow.question import Inquiry
    from auditor.flow.record import Record
    from auditor.request import Request

HEAD = "# What each learner's pairs showed: python -m auditor gate --update-baseline writes it. Review it as code.\n"
_BLOCK = re.compile(r"^(?:#.*\n)*\[\[subject\]\]", re.MULTILINE)  # with the comment right above it
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One audited case, and what was counted. In the file all fields stand side by side.

    Of the case the file has only what a later audit must have in common with it, besides its seed and the digest of
    the subject's file, for whoever reviews a change.
    """

    case: Case
    rho: float | None = None
    confidence: float
    pairs: int
    mismatches: int

    def __post_init__(self) -> None:
        if not 0 <= self.mismatches <= self.pairs or not self.pairs:
            raise ValueError(f"mismatches = {self.mismatches} of pairs = {self.pairs} cannot be")

    @property
    def about(self) -> dict[str, Any]:
        """Return the fields by which this block is found."""
        names = {name.removesuffix("_") for name, field in FIELDS.items() if "baseline" not in field.may_differ_for}
        return {name: value for name, value in self.case.to_json().items() if name in names}

    @property
    def order(self) -> tuple[str, str]:
        """What entries are sorted by in the file: the target, then all else that was asked."""
        return self.case.target, dumps(self.about, sort_keys=True)

    @property
    def document(self) -> dict[str, Any]:
        """Return the block as the file has it."""
        counted: dict[str, Any] = {"rho": self.rho, "confidence": self.confidence, "seed": self.case.seed}
        counted |= {"pairs": self.pairs, "mismatches": self.mismatches, "code": self.case.code}
        return {**self.about, **{name: value for name, value in counted.items() if value is not None}}

    @classmethod
    def read(cls, document: dict[str, Any]) -> Block:
        """Return the block that the file has; ValueError with the field that is wrong."""
        counted = {name: document[name] for name in cls.__struct_fields__ if name in document and name != "case"}
        case = {name: value for name, value in document.items() if name not in counted}
        return msgspec.convert({**counted, "case": case}, cls)

    @property
    def counts(self) -> str:
        """The counts of an entry in words."""
        return f"{self.mismatches:,} mismatches in {self.pairs:,} pairs"

    @property
    def text(self) -> str:
        """Return the block as TOML."""
        lines = [f"{name} = {_value(value)}" for name, value in self.document.items()]
        return "\n".join(["[[subject]]", *lines]) + "\n"


class Baseline(msgspec.Struct, frozen=True):
    """A baseline file: its blocks, each with its text, and what stands before them."""

    path: str
    head: str = HEAD
    blocks: Sequence[tuple[Block, str]] = ()
    is_made: bool = False  # True if this run writes it anew: nothing is compared with it

    def find(self, case: Case) -> Block:
        """Return the block of a case; UsageError where there is none, with the fields that have changed."""
        alike = [block for block, _ in self.blocks if block.case.target == case.target]
        for block in alike:
            if not block.case.differs(case, "baseline"):
                return block
        if not alike:
            raise UsageError(f"the baseline {self.path} has no {case.target}: --update-baseline adds it")
        changed = ", ".join(alike[-1].case.differs(case, "baseline"))
        raise UsageError(
            f"the baseline {self.path} has {case.target}, but what is asked now differs in {changed}; "
            "--update-baseline counts it afresh"
        )

    def updated(self, new: Sequence[Block], over: Sequence[str]) -> Baseline:
        """Return the baseline with new blocks in place of those about the same case.

        `over` are targets all of whose audits were run: of these no block stays that nobody asks for any more.
        """
        asked = [block.about for block in new]
        left = [(block, text) for block, text in self.blocks if block.about in asked or block.case.target not in over]
        for block in new:
            at = next((i for i, (old, _) in enumerate(left) if old.about == block.about), None)
            if at is not None:
                old, text = left[at]
                comment = text[: text.index("[[subject]]")]  # what somebody wrote above it
                left[at] = (block, text if old.document == block.document else comment + block.text)
            else:
                after = next((i for i, (old, _) in enumerate(left) if old.order > block.order), len(left))
                left.insert(after, (block, block.text))
        return replace(self, blocks=left)

    def text(self) -> str:
        """Return the file as text: its head, and a block for each entry."""
        parts = [self.head, *(text for _, text in self.blocks)]
        return "\n".join(part.strip("\n") + "\n" for part in parts if part.strip())

    def write(self) -> None:
        """Write the file; UsageError where it cannot be written."""
        try:
            write_bytes(self.path, self.text().encode())
        except OSError as error:
            raise UsageError(f"cannot write the baseline {self.path}: {reason(error)}; the verdict stands") from error


def read_baseline(path: str, *, makes: bool) -> Baseline:
    """Return the baseline of a file; UsageError with what is wrong. If the run `makes` it, it need not exist yet."""
    if makes and not os.path.exists(path):
        return Baseline(path, is_made=True)
    cure = "" if os.path.exists(path) else "; gate --update-baseline makes it"
    try:
        content = read_bytes(path, f"cannot read the baseline {path}").decode("utf-8")
    except UsageError as error:
        raise UsageError(f"{error}{cure}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the baseline {path} is no TOML: byte {error.start:,} is not UTF-8") from error
    try:
        document = tomllib.loads(content)
        if unknown := set(document) - {"subject"}:
            raise ValueError(f"it has {', '.join(sorted(unknown))}, and a baseline has [[subject]] alone")
        blocks = [Block.read(one) for one in msgspec.convert(document.get("subject", []), list[dict[str, Any]])]
    except (ValueError, RecursionError) as error:  # of TOML too, and of msgspec
        raise UsageError(f"the baseline {path} cannot be understood: {error}; mend it, or make a new one") from error
    orders = [block.order for block in blocks]
    if twice := [order for order in orders if orders.count(order) > 1]:
        raise UsageError(f"the baseline {path} has {twice[0][0]} twice, asked the same: leave one of them out")
    starts = [found.start() for found in _BLOCK.finditer(content)]
    if len(starts) != len(blocks):  # written in another way
        return Baseline(path, HEAD, [(block, block.text) for block in blocks], makes)
    ends = [*starts[1:], len(content)]
    texts = [content[start:end] for start, end in zip(starts, ends, strict=True)]
    head = content[: starts[0]] if starts else content or HEAD
    return Baseline(path, head, [*zip(blocks, texts, strict=True)], makes)


def held_against(
    before: Baseline | None, begin: Callable[[BaselineCounts], tuple[Request, Inquiry]], margin: float
) -> tuple[Request, Inquiry]:
    """Begin an audit against the baseline's counts; one that only counts if the baseline is being made."""
    if before is None:
        raise UsageError(
            f"expect = {NO_WORSE!r} needs a baseline: give --baseline FILE, or baseline in [tool.auditor], and make it "
            "with gate --update-baseline"
        )
    request, inquiry = begin(BaselineCounts(margin=margin))
    if not isinstance(inquiry, NoWorse):
        raise UsageError(f"expect = {NO_WORSE!r} is for rho of one source and input: make an entry of each")
    if before.is_made:
        return request, inquiry
    cell, options = inquiry.cells[0], run_options_of(request)
    found = before.find(case_of(cell, source_of(cell), on_error=options.on_error, memory=options.memory))
    return begin(BaselineCounts(found.pairs, found.mismatches, margin))


def update(
    before: Baseline, settled: Sequence[tuple[Request, Inquiry]], records: Sequence[Record], others: Sequence[str]
) -> Iterator[str]:
    """Write what was counted, and yield what became of each; `others` are targets that were listed and not run."""
    if any(record.decided_by == "interrupt" for record in records):
        yield f"{before.path} is as it was: this run was interrupted"
        return
    ran = [*zip(settled, records, strict=False)]
    new = [
        Block(
            case=record.case,
            rho=inquiry.wanted if isinstance(inquiry, NoWorse) else record.target,
            confidence=record.confidence,
            pairs=record.pairs or 0,
            mismatches=record.mismatches or 0,
        )
        for (_, inquiry), record in ran
        if record.case is not None and _is_counted(inquiry, record)
    ]
    lost = {one.subject for (_, inquiry), one in ran if one.question == "rho" and not _is_counted(inquiry, one)}
    missed = [one.label for (_, inquiry), one in ran if _misses(inquiry, one)]
    lost |= {*others, *(inquiry.cells[0].subject.name for _, inquiry in settled[len(records) :])}
    after = before.updated(new, [block.case.target for block in new if block.case.target not in lost])
    after.write()
    not_whole = [record for _, record in ran if record.subject in lost and record.label not in missed]
    yield from _news(before, after, not_whole)
    for label in missed:
        yield (
            f"{after.path}: {label} is as it was: it misses its own target, and no baseline excuses that; mend it, "
            f"raise its rho, or write expect = {NO_WORSE!r}"
        )


def _is_counted(inquiry: Inquiry, record: Record) -> bool:
    """True if an audit has counts for the baseline: a learner that must get no worse has all of them, or none."""
    is_whole = (
        bool(record.pairs)
        and record.case is not None
        and (not isinstance(inquiry, NoWorse) or record.verdict == "pass")
    )
    is_decent = record.verdict != "error" and not _misses(inquiry, record)
    return record.question == "rho" and len(inquiry.cells) == 1 and is_whole and is_decent


def _misses(inquiry: Inquiry, record: Record) -> bool:
    """True if a subject that is to pass fails: only one that is to get no worse may be above its target."""
    return not isinstance(inquiry, NoWorse) and record.expect == "pass" and record.verdict == "fail"


def _news(before: Baseline, after: Baseline, lost: Sequence[Record]) -> Iterator[str]:
    """Yield a sentence for each block that is new, changed or left out, and for each subject that was not counted."""
    was = {block.order: block for block, _ in before.blocks}
    now = {block.order: block for block, _ in after.blocks}
    same = 0
    for order, block in now.items():
        old = was.get(order)
        if old is None:
            yield f"{after.path}: {block.case.target} is new, {block.counts}"
        elif old.document != block.document:
            yield f"{after.path}: {block.case.target} was {old.counts} and is {block.counts}"
        else:
            same += 1
    for order, old in was.items():
        if order not in now:
            yield f"{after.path}: {old.case.target}, {old.counts}, is left out"
    yield from (f"{after.path}: {record.subject} is as it was: it was not counted to the end" for record in lost)
    yield f"{after.path}: subjects: {len(now)}, as they were: {same}"


def _value(value: Any) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, dict):
        keys = {name: name if _BARE.fullmatch(name) else _value(name) for name in sorted(value)}
        inside = ", ".join(f"{key} = {_value(value[name])}" for name, key in keys.items())
        return f"{{ {inside} }}"
    if isinstance(value, str):
        return dumps(value.encode("utf-8", "backslashreplace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
