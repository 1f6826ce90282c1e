"""Which elements of the outputs wobble, in words. They count what was seen, and promise nothing of other pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from auditor.flow.parts import Listing, Part, Table
from auditor.flow.record import Record
from auditor.flow.wobbles import WATCHED, Element, Wobbles

_NAMED = 3  # elements with a line of their own
_CHOOSES = re.compile(r"support|nonzero|top\(|selected|get_feature_names")  # views whose members are features


def wobble_parts(record: Record, *, most: int = _NAMED) -> Iterator[Part]:
    """Nothing where all pairs that were looked at agree. Of many elements so many are named."""
    seen = record.wobbles
    if seen is not None and seen.mismatches:
        where = f" with {record.cells[seen.cell].name}" if len(record.cells) > 1 else ""
        yield Listing(f"What wobbles{where}, {_scope(seen)}:", list(_lines(record, seen, most)))


def wobble_table(record: Record) -> Table | None:
    """Every element that the record names, where words would name the worst alone."""
    seen = record.wobbles
    if seen is None or len(seen.elements) <= _NAMED or seen.always == seen.unsteady:
        return None
    chosen = seen.kind == "choice"
    rows = [
        (
            one.name if chosen else _name(record, seen, one),
            f"{one.pairs:,}",
            _share(one.pairs, seen.pairs),
            _share(one.runs or 0, seen.runs) if chosen else _was(one).strip(" ()") or _by(one.gap).strip(", "),
        )
        for one in seen.elements
    ]
    more = f"; the {len(rows)} that differ most often" if seen.unsteady > len(rows) else ""
    head = (_noun(record, seen), "pairs", "share", "chosen in" if chosen else "it was")
    return Table(head, rows, title=f"In how many of {seen.pairs:,} pairs each differs{more}:")


def _scope(seen: Wobbles) -> str:
    """Over how many pairs was counted."""
    looked = min(seen.of, WATCHED)
    without = looked - seen.pairs
    left_out = f", {without:,} without two outputs left out" if without else ""
    return f"in {'the first ' if seen.of > WATCHED else ''}{looked:,} pairs{left_out}"


def _lines(record: Record, seen: Wobbles, most: int) -> Iterator[str]:
    if seen.kind != "scalar" or seen.frequent:
        yield from _outputs(seen)
    if seen.kind == "choice":
        yield from _choices(record, seen, most)
    elif [one.name for one in seen.elements] == [""]:
        yield f"the output {_differs(seen.elements[0], seen)}"
    elif seen.unsteady > _NAMED:
        yield from _many(record, seen, most)
    else:
        yield from (f"{_name(record, seen, one)} {_differs(one, seen)}" for one in seen.elements)


def _outputs(seen: Wobbles) -> Iterator[str]:
    if seen.distinct is None:
        return
    if not seen.frequent:
        yield f"all {seen.runs:,} outputs are distinct"
        return
    text, count = seen.frequent[0].text, seen.frequent[0].count
    often = f"the most frequent in {_share(count, seen.runs)} of the runs"
    yield f"{seen.distinct:,} distinct outputs; {often}{f': {text}' if text else ''}"


def _choices(record: Record, seen: Wobbles, most: int) -> Iterator[str]:
    for one in seen.elements[:most]:
        chosen = f"is chosen in {_share(one.runs or 0, seen.runs)} of the runs"
        yield f"{_noun(record, seen)} {one.name} {chosen}; the two runs disagree on it in {_of(one, seen)}"
    if seen.unsteady > most:
        yield f"pairs disagree on {seen.unsteady - most:,}{' more' if most else ''}"


def _many(record: Record, seen: Wobbles, most: int) -> Iterator[str]:
    """A sentence for all of them, and the worst by name."""
    noun = _noun(record, seen)
    every = seen.unsteady == seen.size
    of = "" if seen.size is None or every else f" of {seen.size:,}"
    which = f"{'all ' if every else '' if seen.whole else 'at least '}{seen.unsteady:,}{of} {noun}s"
    labels = any(one.values for one in seen.elements)
    verb, by = "flip" if labels and noun == "probe row" else "differ", "" if labels else _by(seen.gap)
    if seen.always == seen.unsteady and seen.whole:
        yield f"{which} always {verb}{by}"
        return
    yield f"{which} {verb} in some pair{by}{'; most often:' if most else ''}"
    for each in seen.elements[:most]:
        yield f"{_name(record, seen, each)} in {_of(each, seen)}{_was(each)}"


def _differs(one: Element, seen: Wobbles) -> str:
    words = "always differs" if one.pairs == seen.pairs else f"differs in {_of(one, seen)}"
    return f"{words}{_was(one) or _by(one.gap)}"


def _of(one: Element, seen: Wobbles) -> str:
    return f"{one.pairs:,} of {seen.pairs:,} pairs"


def _by(gap: float | None) -> str:
    return "" if gap is None else f", by {gap:.3g} in the median"


def _was(one: Element) -> str:
    """What it was, where few values came again and again."""
    if not one.values or one.runs is not None:
        return ""
    *others, last = (value.text for value in one.values)
    return f" ({', '.join(others)} or {last})" if others else f" ({last})"


def _noun(record: Record, seen: Wobbles) -> str:
    """What the elements are."""
    if seen.kind == "choice":
        return "feature" if _CHOOSES.search(record.view) else "element"
    return "probe row" if record.view.startswith("predict") else "element"


def _name(record: Record, seen: Wobbles, one: Element) -> str:
    """As whoever wrote the output would call it."""
    inner = re.fullmatch(r"\[(.*)\]", one.name)
    if inner and "][" not in one.name:
        return f"{'key' if seen.kind == 'dict' else _noun(record, seen)} {inner[1]}"
    return one.name.lstrip(".") if one.name.startswith(".") else f"output{one.name}"


def _share(count: int, of: int) -> str:
    """Of what was seen: whole percents, and never all or none where it is not."""
    percent = round(100 * count / of)
    if count and not percent:
        return "less than 1 %"
    return "more than 99 %" if percent == 100 and count < of else f"{percent} %"
