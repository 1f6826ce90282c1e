"""What bundled subjects return for fixed samples and fixed r, digit by digit: a run of a record is made again by it.

`outputs.txt` has a digest of the outputs of four pairs for every subject at its own size, and for those with two steps
also at a size at which outputs differ. Numbers count to six digits. If an algorithm is meant to give other outputs, the
test that fails prints its new line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from conformance import ROWS
from support.requests import bench_of
from test_conformance import RUN_AT, SMALL, STEPS

from auditor.randomness import from_key
from auditor.subjects.subject import load_subject
from auditor.values import describe

KNOWN = dict(line.rsplit(None, 1) for line in Path(__file__).with_name("outputs.txt").read_text().splitlines())
WITHOUT = (
    "hidden_state",  # counts its runs in this process
    "conformal_by_own_scale",  # has its grid from its own sample: last digits decide, which are others in another numpy
)
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]\d+)?")

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ROWS if name not in WITHOUT},
    **{f"{name} {params}": (name, {"params": params}) for name, params in RUN_AT},
    **{f"{name} in steps": (name, SMALL.get(name, {"size": 400})) for name in STEPS},
}


def shown(output: Any) -> str:
    return NUMBER.sub(lambda found: f"{float(found[0]):.6g}", describe(output, 5000))


def outputs_of(bench: Any) -> Iterator[Any]:
    """Yield the outputs of four pairs; of a subject with two steps also how likely each pair's cores finish apart."""
    steps = bench.subject.finishing
    for index in range(4):
        yield from (bench.run(index, which) for which in (0, 1))
        if steps is not None:
            r = from_key(bench.keys.r_of(index))
            yield steps.apart(*(steps.run(bench.draw(index, which), r) for which in (0, 1)))


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_what_they_were(case: str) -> None:
    name, options = CASES[case]
    lines = [*map(shown, outputs_of(bench_of(name, **options)))]
    digest = blake2b("\n".join(lines).encode(), digest_size=6).hexdigest()
    assert KNOWN.get(case) == digest, f"{case} {digest}\n{lines}"


def test_promises_at_other_sizes_are_what_they_were() -> None:
    """Of every subject that has one, from one row on: none is above 1, and from ten rows on more promise no less."""
    lines = []
    for name in ROWS:
        subject = load_subject(name)
        if subject.declared.promise is None:
            continue
        size = subject.declares("size")
        found = [subject.promised(rows) for rows in (1, 2, 10, size // 100, size // 3, size, 3 * size)]
        known = [one for one in found[2:] if one is not None]
        assert known == sorted(known, reverse=True), name
        assert max(one or 0.0 for one in found) <= 1, name
        lines.append(" ".join([name, *("-" if one is None else f"{one:.6g}" for one in found)]))
    assert lines == Path(__file__).with_name("promises.txt").read_text().splitlines()
