"""What was counted before, in a file that a person can review: a block for each subject, in order.

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
are not updated stay as they are, to the letter; a new one goes where the order has it.
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
    """One subject, as it was asked about, and what was counted. In the file all fields stand side by side.

    Of the case only what a later audit must have in common with it is written, besides its seed and the digest of the
    subject's file, for whoever reviews a change.
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
        """Return what tells this block from others."""
        names = {
            ("as" if name == "as_" else name)
            for name, field in FIELDS.items()
            if "baseline" not in field.may_differ_for
        }
        return {name: value for name, value in self.case.to_json().items() if name in names}

    @property
    def order(self) -> tuple[str, str]:
        return self.case.target, dumps(self.about, sort_keys=True)

    @property
    def document(self) -> dict[str, Any]:
        """Return the block as the file has it."""
        counted: dict[str, Any] = {"rho": self.rho, "confidence": self.confidence, "seed": self.case.seed}
        counted |= {"pairs": self.pairs, "mismatches": self.mismatches, "code": self.case.code}
        return {**self.about, **{name: value for name, value in counted.items() if value is not None}}


_COUNTED = ("rho", "confidence", "pairs", "mismatches")


def _block_from(document: dict[str, Any]) -> Block:
    """Read a block; ValueError with the field that is wrong."""
    case = {name: value for name, value in document.items() if name not in _COUNTED}
    counted = {name: document[name] for name in _COUNTED if name in document}
    return msgspec.convert({"case": case, **counted}, Block)


class Baseline(msgspec.Struct, frozen=True):
    """The blocks of a file, each with its text, and what stands before them."""

    path: str
    head: str = HEAD
    blocks: Sequence[tuple[Block, str]] = ()
    is_made: bool = False  # anew, of what this run counts: nothing is held against it

    def find(self, case: Case) -> Block:
        """Return the block of what is asked; UsageError with what has changed, or that there is none."""
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
        """With these in place of those about the same; of targets that are `over`, all of whose audits were run, with
        none that nobody asks for any more."""
        asked = [block.about for block in new]
        left = [(block, text) for block, text in self.blocks if block.about in asked or block.case.target not in over]
        for block in new:
            at = next((i for i, (old, _) in enumerate(left) if old.about == block.about), None)
            if at is not None:
                old, text = left[at]
                left[at] = (block, text if old.document == block.document else _comment(text) + _drawn(block))
            else:
                after = next((i for i, (old, _) in enumerate(left) if old.order > block.order), len(left))
                left.insert(after, (block, _drawn(block)))
        return replace(self, blocks=left)

    def text(self) -> str:
        parts = [self.head, *(text for _, text in self.blocks)]
        return "\n".join(part.strip("\n") + "\n" for part in parts if part.strip())

    def write(self) -> None:
        """All of it or nothing."""
        try:
            write_bytes(self.path, self.text().encode())
        except OSError as error:
            raise UsageError(f"cannot write the baseline {self.path}: {reason(error)}; the verdict stands") from error


def read_baseline(path: str, *, makes: bool) -> Baseline:
    """A file of blocks; UsageError with what is wrong. Where it `makes` one, no file yet is none with no block."""
    if makes and not os.path.exists(path):
        return Baseline(path, is_made=True)
    cure = "" if os.path.exists(path) else "; gate --update-baseline makes it"
    try:
        content = read_bytes(path, f"cannot read the baseline {path}").decode("utf-8")
    except UsageError as error:
        raise UsageError(f"{error}{cure}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the baseline {path} is no TOML: byte {error.start:,} is not UTF-8") from error
    return replace(_parsed(path, content), is_made=makes)


def _parsed(path: str, content: str) -> Baseline:
    try:
        document = tomllib.loads(content)
        if unknown := set(document) - {"subject"}:
            raise ValueError(f"it has {', '.join(sorted(unknown))}, and a baseline has [[subject]] alone")
        blocks = [_block_from(one) for one in msgspec.convert(document.get("subject", []), list[dict[str, Any]])]
    except (ValueError, RecursionError) as error:  # of TOML too, and of msgspec
        raise UsageError(f"the baseline {path} cannot be understood: {error}; mend it, or make a new one") from error
    seen = [block.order for block in blocks]
    if twice := [order for order in seen if seen.count(order) > 1]:
        raise UsageError(f"the baseline {path} has {twice[0][0]} twice, asked the same: leave one of them out")
    starts = [found.start() for found in _BLOCK.finditer(content)]
    if len(starts) != len(blocks):  # written in another way
        return Baseline(path, HEAD, [(block, _drawn(block)) for block in blocks])
    ends = [*starts[1:], len(content)]
    texts = [content[start:end] for start, end in zip(starts, ends, strict=True)]
    return Baseline(path, content[: starts[0]] if starts else content or HEAD, [*zip(blocks, texts, strict=True)])


def held_against(
    before: Baseline | None, begin: Callable[[BaselineCounts], tuple[Request, Inquiry]], margin: float
) -> tuple[Request, Inquiry]:
    """An audit against what the baseline has of it; where that is being made, one that counts."""
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
    found = before.find(_case(request, inquiry))
    return begin(BaselineCounts(found.pairs, found.mismatches, margin))


def update(
    before: Baseline, settled: Sequence[tuple[Request, Inquiry]], records: Sequence[Record], others: Sequence[str]
) -> Iterator[str]:
    """Write what was counted, and say what became of each; `others` are targets that were asked for and not run."""
    if any(record.decided_by == "interrupt" for record in records):
        yield f"{before.path} is as it was: this run was interrupted"
        return
    ran = [*zip(settled, records, strict=False)]
    new = [_block(inquiry, record) for (_, inquiry), record in ran if _is_counted(inquiry, record)]
    lost = {one.subject for (_, inquiry), one in ran if one.question == "rho" and not _is_counted(inquiry, one)}
    lost |= {*others, *(inquiry.cells[0].subject.name for _, inquiry in settled[len(records) :])}
    after = before.updated(new, [block.case.target for block in new if block.case.target not in lost])
    after.write()
    yield from _news(before, after, [record for _, record in ran if record.subject in lost])


def _is_counted(inquiry: Inquiry, record: Record) -> bool:
    """Whether it leaves counts worth keeping: those of a learner that is to get no worse are whole, or none."""
    is_whole = (
        bool(record.pairs)
        and record.case is not None
        and (not isinstance(inquiry, NoWorse) or record.verdict == "pass")
    )
    return record.question == "rho" and len(inquiry.cells) == 1 and is_whole and record.verdict != "error"


def _case(request: Request, inquiry: Inquiry) -> Case:
    """Return the case of an audit that is settled and has not begun."""
    cell, how = inquiry.cells[0], run_options_of(request)
    return case_of(cell, source_of(cell), on_error=how.on_error, memory=how.memory)


def _block(inquiry: Inquiry, record: Record) -> Block:
    """Return what a finished audit leaves for the next one."""
    assert record.case is not None
    return Block(
        case=record.case,
        rho=inquiry.wanted if isinstance(inquiry, NoWorse) else record.target,
        confidence=record.confidence,
        pairs=record.pairs or 0,
        mismatches=record.mismatches or 0,
    )


def _news(before: Baseline, after: Baseline, lost: Sequence[Record]) -> Iterator[str]:
    was = {block.order: block for block, _ in before.blocks}
    now = {block.order: block for block, _ in after.blocks}
    for order, block in now.items():
        old = was.get(order)
        if old is None:
            yield f"{after.path}: {block.case.target} is new, {_counts(block)}"
        elif old.document != block.document:
            yield f"{after.path}: {block.case.target} was {_counts(old)} and is {_counts(block)}"
    yield from (
        f"{after.path}: {old.case.target}, {_counts(old)}, is left out"
        for order, old in was.items()
        if order not in now
    )
    yield from (f"{after.path}: {record.subject} is as it was: it was not counted to the end" for record in lost)
    same = sum(order in was and was[order].document == block.document for order, block in now.items())
    yield f"{after.path}: subjects: {len(now)}, as they were: {same}"


def _counts(block: Block) -> str:
    return f"{block.mismatches:,} mismatches in {block.pairs:,} pairs"


def _comment(text: str) -> str:
    """What somebody wrote above a block."""
    return text[: text.index("[[subject]]")]


def _drawn(block: Block) -> str:
    return "\n".join(["[[subject]]", *(f"{name} = {_value(value)}" for name, value in block.document.items())]) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(name)} = {_value(one)}" for name, one in sorted(value.items()))
        return f"{{ {inside} }}"
    if isinstance(value, str):
        return dumps(value.encode("utf-8", "backslashreplace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)
