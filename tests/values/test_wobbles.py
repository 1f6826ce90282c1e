"""What differs, added up: hand-made pairs against counts by hand, and one record whoever ran the trials."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from support.learners import votes
from support.requests import ask, audit, request_of

from auditor.engine.engine import RunOptions, Serial
from auditor.flow.question import find_question
from auditor.flow.record import as_record, to_json
from auditor.flow.run import carry_out
from auditor.values import compare, same, settle
from auditor.values.elements import ELEMENTS, WATCHED, SeenText, Wobbles, wobbles


def added(pairs: list[tuple[Any, Any]], of: int | None = None, **options: Any) -> Wobbles:
    settled = [(settle(a), settle(b)) for a, b in pairs]
    payloads = [msgspec.to_builtins(compare(a, b, differs=not same(a, b), **options)) for a, b in settled]
    found = wobbles(payloads, of or len(pairs))
    assert found is not None
    return found


def named(found: Wobbles) -> list[tuple[str, int]]:
    return [(one.name, one.pairs) for one in found.elements]


def test_of_sets_it_is_counted_who_chooses_and_who_disagrees() -> None:
    found = added([({1, 2}, {1, 2}), ({1, 2}, {1}), ({1, 2}, {1, 3}), ({1}, {1})])
    assert [(one.name, one.pairs, one.runs) for one in found.elements] == [("2", 2, 4), ("3", 1, 1)]
    assert (found.kind, found.pairs, found.runs, found.mismatches, found.unsteady) == ("choice", 4, 8, 2, 2)
    assert (found.distinct, found.frequent[0]) == (3, SeenText("{1, 2}", 4))
    assert (found.whole, found.gap, found.size) == (True, None, None)
    mixed: list[tuple[Any, Any]] = [({10**20, 10, 2, "10", "a"}, {"b"})]
    assert [name for name, _ in named(added(mixed))] == ["2", "10", f"{10**20}", "'10'", "'a'", "'b'"]


def test_masks_are_choices_and_so_are_rising_indices() -> None:
    masks = [(np.array([True, False]), np.array([True, True])), (np.array([True, False]), np.array([True, False]))]
    indices = [((0,), (0, 1)), ((0,), (0,))]
    for pairs in (masks, indices):
        assert [(one.name, one.pairs, one.runs) for one in added(pairs).elements] == [("1", 1, 1)]


def test_where_members_do_not_say_what_differs_positions_do() -> None:
    found = added([(["a", "b"], ["b", "a"]), (["a", "b"], ["a", "b"])])
    assert (found.kind, named(found)) == ("list", [("[0]", 1), ("[1]", 1)])


def test_keys_have_the_median_of_their_gaps_and_what_they_were() -> None:
    pairs = [({"slope": 0.0, "n": 3}, {"slope": gap, "n": n}) for gap, n in ((0.5, 3), (0.25, 5), (1.0, 3), (2.0, 4))]
    found = added(pairs)
    slope, n = found.elements
    assert (slope.name, slope.pairs, slope.gap) == ("['slope']", 4, 0.5)  # the lower of the two in the middle
    assert (n.name, n.pairs, n.gap) == ("['n']", 2, 1)
    assert added(pairs[:3]).elements[0].gap == 0.5  # of three the one in the middle
    assert isinstance(n.gap, int)
    assert n.values == [SeenText("3", 2), SeenText("4", 1), SeenText("5", 1)]
    assert (found.kind, found.always, found.unsteady) == ("dict", 1, 2)
    assert found.gap == 0.5  # the lower median over pairs, of 0.5, 0.25, 1.0 and 2.0


def test_rows_that_flip_are_counted_all_and_the_most_frequent_named() -> None:
    rows, rng = np.zeros(1000, dtype=int), np.random.default_rng(0)
    flips = [set(rng.choice(1000, 90, replace=False).tolist()) | {17} for _ in range(40)]
    pairs = [(rows, np.where(np.isin(np.arange(1000), [*flip]), 1, 0)) for flip in flips]
    found = added(pairs, by_rows=True)
    counts = {row: sum(row in flip for flip in flips) for row in range(1000)}
    worst = sorted(counts, key=lambda row: (-counts[row], row))[:ELEMENTS]
    assert named(found) == [(f"[{row}]", counts[row]) for row in worst]
    assert worst[0] == 17
    assert (found.size, found.unsteady) == (1000, sum(count > 0 for count in counts.values()))
    assert (found.always, found.whole) == (1, True)


def test_what_was_not_listed_is_not_claimed_to_be_all() -> None:
    found = added([(dict.fromkeys(range(100), 0), dict.fromkeys(range(100), 1))])
    assert not found.whole
    assert found.unsteady < 100


def test_distinct_outputs_are_those_of_all_runs() -> None:
    found = added([("a", "a"), ("a", "b"), ("c", "a"), ("a", "a")])
    assert found.distinct == 3
    assert found.frequent == [SeenText("'a'", 6)]
    assert [(one.name, one.pairs) for one in found.elements] == [("", 2)]
    assert found.elements[0].values == [SeenText("'a'", 2), SeenText("'b'", 1), SeenText("'c'", 1)]


def test_nothing_looked_at_is_nothing_said() -> None:
    assert wobbles([], 10) is None


OPTIONS: dict[str, Any] = {"size": 20, "fixed": 510, "rho": 0.5}


def test_a_record_has_the_same_wobbles_whoever_ran_it_and_after_a_resume(tmp_path: Path) -> None:
    alone = audit(votes, "norm", jobs=1, **OPTIONS).wobbles
    assert alone is not None
    assert (alone.pairs, alone.of, alone.runs) == (WATCHED, 510, 2 * WATCHED)
    file = tmp_path / "audits.sqlite"
    kept = audit(votes, "norm", ledger=file, jobs=2, **OPTIONS)
    again = audit(votes, "norm", ledger=file, resume=True, jobs=1, **OPTIONS)
    assert kept.wobbles == again.wobbles == alone
    assert again.cost.runs == kept.cost.runs


def test_no_hash_seed_has_a_part_in_it() -> None:
    """Two sets are told as another process tells them, whose hash seed is none of ours."""
    code = (
        "import msgspec; from auditor.values import compare; from auditor.values import settle;"
        "a, b = settle({f'k{i}' for i in range(9)}), settle({f'k{i}' for i in range(5, 14)});"
        "print(msgspec.json.encode(compare(a, b, differs=True)).decode())"
    )
    env = {**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    there = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True, text=True).stdout
    a, b = settle({f"k{i}" for i in range(9)}), settle({f"k{i}" for i in range(5, 14)})
    assert msgspec.json.encode(compare(a, b, differs=True)).decode() == there.strip()


def raises_at_times(sample: np.ndarray, r: np.random.Generator) -> float:
    if sample[0] < 0.2:
        raise ValueError
    return float(sample[0])


def test_pairs_without_two_outputs_are_left_out() -> None:
    request = request_of(raises_at_times, "uniform", size=1, fixed=40)
    how = RunOptions(on_error="bottom", second_process=False)
    record = carry_out(find_question("rho").begin(request), request, how, engine=Serial())
    assert record.wobbles is not None
    assert 0 < record.wobbles.pairs < record.wobbles.of == 40


def test_the_field_is_read_back_and_a_record_without_it_is_one_too() -> None:
    record = audit(votes, "norm", size=20)
    document = msgspec.json.decode(to_json(record))
    assert as_record(document).wobbles == record.wobbles
    del document["wobbles"]
    assert as_record(document).wobbles is None


def coin(sample: np.ndarray, r: np.random.Generator, *, x: float = 0.5) -> bool:
    return bool(sample[0] < x)


def loss(output: Any, rows: Any) -> Any:
    return np.zeros(len(rows))


@pytest.mark.parametrize("options", [{}, {"loss": loss}, {"inputs": {"x": [0.0, 0.5]}}, {"fixed": 40}])
def test_every_question_about_pairs_looks(options: dict[str, Any]) -> None:
    record = audit(coin, "uniform", size=5, **options)
    assert record.wobbles is not None
    row = record.cells[record.wobbles.cell]
    assert (record.wobbles.pairs, record.wobbles.mismatches) == (row.pairs, row.mismatches)
    assert record.wobbles.cell == ("inputs" in options)
    assert record.wobbles.distinct == 2


@pytest.mark.parametrize("options", [{"eta": 0.3, "nu": 0.3}, {"question": "curve", "vary": {"size": [1, 2]}}])
def test_other_questions_do_not(options: dict[str, Any]) -> None:
    question = options.get("question", "nu")
    rest = {name: value for name, value in options.items() if name != "question"}
    rest |= {} if question == "curve" else {"size": 5}
    assert ask(question, coin, "uniform", **rest).wobbles is None
