"""Every cause is named where it is, with its figures, and none where there is none.

Chance: a wrong cause is named with probability at most 1 - confidence in each; all confidences here are 1 - 1e-6 or
what is said is certain. That a cause is found where it is, is certain to more digits at the rates that they have.
"""

from __future__ import annotations

import functools
import json
import shlex
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners import caused

import auditor
from auditor.flow.record import Record
from auditor.questions.explain import Explain
from auditor.questions.explain.answer import ExplainAnswer, answer_of

pytestmark = pytest.mark.usefixtures("no_other_process")
Command = Callable[..., tuple[int, str, str]]
CODE = """
def fit(sample, r):
    return {"first <b>row</b>": float(sample[0] > 0), "rows": len(sample)}
"""
SURE = 1 - 1e-6


def explained(fn: Any, source: object = "norm", **options: Any) -> tuple[Record, ExplainAnswer]:
    """Once for all tests that ask the same of a learner that everybody knows."""
    is_known = fn in vars(caused).values() and not options
    return _of_known(fn, source) if is_known else _explained(fn, source, **options)


def _explained(fn: Any, source: object, **options: Any) -> tuple[Record, ExplainAnswer]:
    record = auditor.ask("explain", fn, source, **{"size": 200, "confidence": SURE, **options})
    answer = answer_of(record)
    print(record.reason)
    print([(one.kind, one.before, one.after, one.pairs, one.note) for one in answer.experiments])
    assert record.verdict == "pass"
    return record, answer


_of_known = functools.cache(_explained)


@pytest.mark.parametrize(
    ("fn", "source", "kind"),
    [
        (caused.raw_mean, "norm", "continuous"),
        (caused.summary, "norm", "continuous"),
        (caused.most_common_first, "randint(0, 5)", "output-order"),
        (caused.groups_in_order_of_appearance, "uniform", "labels"),
        (caused.first_row, "norm", "row-order"),
        (caused.residuals, "norm", "rounding-noise"),
        (caused.redraws, "norm", "desync"),
        (caused.is_above, "norm", "r-unused"),
        (caused.commoner_of_two, "bernoulli(0.5)", "r-unused"),
        (caused.seeded_by_the_sample, "norm", "r-unused"),
        (caused.one_digit, "norm", "too-little-data"),
    ],
)
def test_the_main_cause_is_the_one_that_was_built_in(fn: Callable[..., Any], source: str, kind: str) -> None:
    record, answer = explained(fn, source)
    main = answer.causes[0]
    assert (main.kind, record.exit_code) == (kind, 0)
    assert main.cure
    assert main.message
    assert main.replay
    assert (main.before or 0.0) > 0.3
    assert (1.0 if main.after is None else main.after) < 0.6 * (main.before or 0.0) or kind == "r-unused"


@pytest.mark.parametrize(
    ("fn", "source"),
    [(caused.threshold_from_r, "norm"), (caused.grid_from_r, "norm"), (caused.majority, "bernoulli(0.9)")],
)
def test_a_sound_subject_has_no_cause(fn: Callable[..., Any], source: str) -> None:
    record, answer = explained(fn, source, confidence=0.95)
    assert answer.causes == []
    assert Explain().title(record).startswith("NOTHING TO EXPLAIN")


def test_last_digits_that_decide_a_part_of_an_answer_do_not_explain_the_rest() -> None:
    """As in a tree, whose ties move some predictions by a lot while the others differ with the sample."""

    def tied(sample: Any, r: np.random.Generator) -> Any:
        total = np.array([sample.sum()])
        return np.array([5.0 * (total.view(np.int64)[0] & 1), total[0]])

    _, answer = explained(tied, confidence=0.95)
    assert "rounding-noise" not in [one.kind for one in answer.causes]
    assert next(one.after for one in answer.experiments if one.kind == "rounding-noise") > 0


def test_all_runs_are_counted() -> None:
    """Sixteen pairs that settle it, eight that are looked at, and what is run twice: more than two runs a trial."""
    seen = []

    def counted(sample: Any, r: np.random.Generator) -> bool:
        seen.append(1)
        return bool(sample.mean() > 0)

    record, answer = explained(counted, confidence=0.95)
    assert record.cost is not None
    other_processes = 3 + 5 * 24  # of earlier runs, and under five hash seeds, since this file makes sets
    assert record.cost.runs == answer.runs == len(seen) + other_processes
    assert answer.runs > 2 * answer.pairs_in_all - other_processes


def test_draws_out_of_step_are_named_with_their_line() -> None:
    _, answer = explained(caused.redraws)
    line = next(
        i for i, text in enumerate(Path(caused.__file__).read_text().splitlines(), 1) if "while r.random()" in text
    )
    assert (answer.causes[0].where or "").endswith(f"caused.py:{line}")


def test_a_grid_as_wide_as_it_says_meets_the_target() -> None:
    """The mean of 200 normal rows: two differ by N(0, 1/100), 0.0798 on average, so that a grid of width w parts them
    with probability at most 0.0798 / w; the width is for half of the target, by eight pairs."""
    _, answer = explained(caused.raw_mean)
    (width,) = answer.widths
    assert 0.0798 / 0.05 / 4 < width < 4 * 0.0798 / 0.05
    # A mean of about 0 is smaller than that: to round it so would leave nothing of it, and repair looks further.
    assert (
        f"A grid of width {width:g} is wide enough for rho = 0.1, but larger than every number" in answer.causes[0].cure
    )


def test_an_r_that_is_drawn_and_does_no_work() -> None:
    def drawn_in_vain(sample: Any, r: np.random.Generator) -> bool:
        r.random()
        return bool(sample.mean() > 0)

    _, answer = explained(drawn_in_vain, confidence=0.95)
    assert [cause.kind for cause in answer.causes] == ["r-unused"]
    assert "No bit" not in answer.causes[0].message


@pytest.mark.parametrize(("kind", "state"), [("dict", "not shown"), ("polars", "not run")])
def test_tables_of_any_library_have_rows(kind: str, state: str) -> None:
    import polars as pl

    def first_of_column(sample: Any, r: np.random.Generator) -> bool:
        return bool(sample["x"][0] > 0)

    columns = {"x": np.random.Generator(np.random.PCG64(5)).normal(size=300), "n": np.arange(300)}
    table = columns if kind == "dict" else pl.DataFrame(columns)
    _, answer = explained(first_of_column, table, size=50, pairs=40, confidence=0.95)
    assert "row-order" in [cause.kind for cause in answer.causes]
    (noise,) = (one for one in answer.experiments if one.kind == "rounding-noise")
    assert (noise.state, "no noise can be put on a polars DataFrame" in noise.note) == (state, kind == "polars")


def test_the_pairs_are_never_those_of_a_check() -> None:
    seen: list[float] = []

    def remembers(sample: Any, r: np.random.Generator) -> int:
        seen.append(float(sample[0]))
        return 0

    explained(remembers, confidence=0.95)
    mine, firsts = set(seen), len(seen)
    seen.clear()
    auditor.audit(remembers, "norm", size=200)
    assert firsts
    assert mine.isdisjoint(seen)


def test_what_cannot_be_run_is_told_and_ends_no_other_experiment() -> None:
    """One that the subject cannot stand; and counts have no rows that could be sorted."""

    def only_200(sample: Any, r: np.random.Generator) -> float:
        if len(sample) != 200:
            raise ValueError("200 rows, please")
        return float(sample.mean())

    def share(sample: auditor.Sample, r: np.random.Generator) -> float:
        return float(sample.mean())

    for fn, options, kind, note in (
        (only_200, {}, "too-little-data", "could not be run"),
        (share, {"source": "bernoulli(0.5)", "sample": "counts"}, "row-order", "no rows"),
    ):
        record, answer = explained(fn, confidence=0.95, **options)
        (row,) = (one for one in answer.experiments if one.kind == kind)
        assert (row.state, note in row.note) == ("not run", True)
        assert (f"Not tried: {kind}, because" in str(record)) == (fn is only_200)  # sorted rows are no cause of counts
        assert answer.causes[0].kind == "continuous"


# The command.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "learner.py").write_text(CODE)
    return tmp_path


def test_the_command_its_reports_and_its_trials_again(command: Command, folder: Path) -> None:
    words = ["explain", "learner.py:fit", "--source", "norm", "--size", "50", "--seed", "3", "--pairs", "100"]
    files = ["--json", "out.json", "--markdown", "out.md", "--svg", "out.svg"]
    code, out, _ = command(*words, *files, cwd=folder)
    assert code == 0
    assert "EXPLAINED" in out
    assert "row-order" in out
    assert "what to do: Sort the rows" in out
    assert "━━━" in out
    document = json.loads((folder / "out.json").read_text())
    main = document["answer"]["causes"][0]
    assert main["kind"] == "row-order"
    assert {*main} == {"kind", "before", "after", "message", "where", "replay", "cure", "measure"}
    assert "row-order" in (folder / "out.md").read_text()
    drawn = ElementTree.fromstring((folder / "out.svg").read_text())
    texts = ["".join(one.itertext()) for one in drawn.iter() if one.tag.endswith("text")]
    assert {"as it is", "without row-order"} <= set(texts)
    _, _, _, *again = shlex.split(main["replay"])
    code, out, _ = command(*again, cwd=folder)
    assert code == 0
    assert "DIFFERENT  pair" in out
    assert "SAME  the same pair in the experiment" in out
    place = next(place for place, row in enumerate(document["cells"]) if row["name"] == "as it is")
    pair = document["examples"][0]["pair"]
    words = ["replay", "out.json", "--pair", str(pair), "--cell", str(place), "--trust"]
    code, out, _ = command(*words, cwd=folder)
    assert code == 0
    assert f"DIFFERENT  pair {pair}" in out


def test_a_learner_that_raises_is_an_error_and_explains_nothing(command: Command, folder: Path) -> None:
    (folder / "raises.py").write_text("def fit(sample, r):\n    raise ValueError('too big')\n")
    code, out, error = command("explain", "raises.py:fit", "--source", "norm", "--size", "9", cwd=folder)
    assert code == 4
    assert "ERROR  raises.py:fit" in out + error
    assert "too big" in out + error
    assert not [words for words in ("EXPLAINED", "Not run", "without") if words in out]
