"""What does a report call a subject's answers? The words that its author declares, as data.

    words={"rows": "items", "differ": "crown different winners", "answer": "winner", "sister": "r_winner"}

A report then says "Two redraws of these 500 items crown different winners in about 1 of 7 cases", and where the audit
fails it looks for what would hold: the sister, and more rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from auditor.errors import UsageError, in_words
from auditor.host.boundary import in_host
from auditor.subjects.subject import Subject


class Wording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The words for a subject's answers."""

    differ: str  # what two samples do whose answers differ: "crown different winners"
    rows: str = "rows"  # what a sample is made of
    answer: str = "answer"  # what an answer is: "winner"
    element: str = "{}"  # a part of an answer, by its name: "the rank of {}"
    chosen: str = "is chosen"  # what a name is that an answer has: "is among the best"
    values: dict[str, str] = {}  # what an answer means, by its text: {"True": "ash beats birch"}
    sister: str = ""  # the reproducible subject that answers the same question
    price: str = ""  # what the sister costs, as a sentence
    counts_rows: bool = True  # whether more rows would help, and a failed audit looks for how many


@in_host
def wording_of(subject: Subject) -> Wording | None:
    """Return the declared words at a subject's parameters; None where there are none."""
    found: Any = subject.declares("words")
    if found is None:
        return None
    try:
        return msgspec.convert(dict(found) if isinstance(found, Mapping) else found, Wording)
    except msgspec.ValidationError as error:
        known = ", ".join(Wording.__struct_fields__)
        raise UsageError(
            f"{subject.name} declares words={found!r}, which must map names to texts ({in_words(error)}): {known}"
        ) from error
