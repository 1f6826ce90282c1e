"""The price of a claim: brackets around sizes that are known exactly, and what stands beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.requests import ask, drawn, inquiry_of

from auditor.errors import SubjectError, UsageError
from auditor.flow.question import find_question, make_request
from auditor.flow.record import CellRow, Record, as_record, read_record, to_json
from auditor.flow.run import answer
from auditor.questions.price import PriceInquiry
from auditor.questions.price.answer import PricedClaim, _point, answer_of, rows_of, size_text
from auditor.report.terminal import as_text
from auditor.trials.cell import make_bench
from auditor.trials.trial import Trial

# rho = min(1, 10 / size) exactly, and a share min(1, 4 / size) of the runs is inaccurate.
KNOWN = """
import auditor

def rare(output, *, source, r, params):
    return output[1]

@auditor.subject(source="norm", size=1000, theorem="Theorem X", claimed=0.2, delta=0.05, accuracy=rare,
                 plain=50, bounds={"limit": lambda size: 4 / size, "silent": lambda size: None})
def known(sample, r):
    n = len(sample)
    accurate = bool(r.random() >= 4 / n)
    return (float(sample[0]) if r.random() < 10 / n else 0.0, accurate)

@auditor.subject(source="norm", size=20, theorem="Theorem Y")
def bold(sample, r):
    return float(sample[0]) if r.random() < 10 / len(sample) else 0.0

def never(sample, r):
    return float(sample[0])

@auditor.subject(source="norm", size=8, theorem="Theorem Z")
def edge(sample, r):
    if len(sample) > 20:
        raise MemoryError("no more than 20 rows")
    return float(sample[0]) if r.random() < 0.09 else 0.0

def up_to_forty(sample_scale):
    if sample_scale > 2:
        raise ValueError(f"sample_scale={sample_scale!r} must be at most 2")
    return max(1, round(20 * sample_scale))

@auditor.subject(source="bernoulli(0.5)", sample="counts", size=up_to_forty, theorem="Theorem W")
def within(sample: auditor.Sample, r, *, sample_scale=1.0):
    return float(sample.take(up_to_forty(sample_scale)).mean())

def from_sixteen(sample_scale):
    if sample_scale < 0.8:
        raise ValueError(f"sample_scale={sample_scale!r} must be at least 0.8")
    return round(20 * sample_scale)

@auditor.subject(source="bernoulli(0.5)", sample="counts", size=from_sixteen)
def short(sample: auditor.Sample, r, *, sample_scale=1.0):
    return bool(sample.take(from_sixteen(sample_scale)).mean() < 2)

def asks(sample, r, *, rho=0.5, width=1.0):
    return float(sample[0]) if r.random() < rho / len(sample) else 0.0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "known.py").write_text(KNOWN)
    return tmp_path


def price(folder: Path, name: str, source: str | None = None, **options: Any) -> Record:
    texts = options.pop("texts", {})
    given = {"jobs": 1, "second_process": False, **options}
    return answer(make_request("price", f"{folder}/known.py:{name}", source, given, texts=texts))


def test_both_brackets_hold_the_sizes_that_are_known(folder: Path) -> None:
    """rho <= 0.2 from 50 rows on, inaccurate <= 0.05 from 80. False alarm 1e-6 by the confidence."""
    found = price(folder, "known", confidence=1 - 1e-6, pairs=10_000)
    rho, accuracy = answer_of(found).asked
    assert (rho.claim, rho.limit, accuracy.claim, accuracy.limit) == ("reproducible", 0.2, "accurate", 0.05)
    assert rho.low is not None
    assert rho.high is not None
    assert rho.low < 50 <= rho.high
    assert rho.high / rho.low < 10
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.low < 80 <= accuracy.high
    assert (answer_of(found).plain, answer_of(found).promised) == (50, 1000)
    assert [finding.kind for finding in found.findings] == ["second-process"]
    assert 20 <= answer_of(found).bounds["limit"] <= 21  # 4 / size <= 0.2
    assert "silent" not in answer_of(found).bounds
    assert sum(row.pairs for row in found.cells) == found.pairs
    assert (found.pairs or 0) <= found.budget
    assert [(one.low, one.high) for one in found.measures] == [
        (rho.low + 1, rho.high),
        (accuracy.low + 1, accuracy.high),
    ]
    assert found.verdict == "pass"
    for row in found.cells:  # what the gates showed, of a rho that is known
        assert row.low <= min(1, 10 / row.size) <= row.high
        assert (row.verdict == "pass") == (row.high == 0.2)


@pytest.mark.parametrize(
    ("claim", "counts", "point"),
    [
        ("accurate", {"runs": 8, "failures": 2}, (60.0, None, 0.25, None)),
        ("accurate", {"runs": 8, "failures": 0}, (60.0, None, 0.0, 0.05)),  # the size was shown to be accurate
        ("accurate", {"runs": 8, "failures": 0, "size": 59}, (59.0, None, 0.0, 1.0)),
        ("accurate", {}, (60.0, None, None, 0.05)),
        ("accurate", {"runs": 0, "failures": 0}, (60.0, None, None, 0.05)),
        ("accurate", {"runs": 8}, (60.0, None, None, 0.05)),
        ("reproducible", {"verdict": "pass", "estimate": 0.125}, (60.0, 0.1, 0.125, 0.5)),
        ("reproducible", {"verdict": "fail", "estimate": 0.125}, (60.0, 0.1, 0.125, 0.5)),
        ("reproducible", {"verdict": "inconclusive", "estimate": 0.125}, (60.0, None, 0.125, None)),
        ("reproducible", {"verdict": "inconclusive", "estimate": 0.0}, (60.0, None, 0.0, 0.5)),
    ],
)
def test_what_a_chart_shows_of_a_size(claim: str, counts: dict[str, Any], point: Any) -> None:
    known = {"name": "", "question": "price", "source": "", "size": 60, "seed": 0, "pairs": 8, "mismatches": 0}
    limits = {"estimate": None, "low": 0.1, "high": 0.5, "confidence": 0.95, "verdict": "pass"}
    row = CellRow(**{**known, **limits, **counts})
    assert _point(PricedClaim(claim, 0.05, 10, 60), row) == point


@pytest.mark.parametrize(("low", "contradicts"), [(None, False), (19, False), (20, True), (21, True)])
def test_a_theorem_is_contradicted_from_its_own_size_on(folder: Path, low: int | None, contradicts: bool) -> None:
    inquiry = inquiry_of(f"{folder}/known.py:bold", question="price")
    assert isinstance(inquiry, PriceInquiry)
    found = inquiry._contradictions([PricedClaim("reproducible", 0.2, low, None)])
    assert [one.kind for one in found] == ["above-promise"] * contradicts


def test_the_least_size_of_a_bound_is_where_it_is_the_target(folder: Path) -> None:
    inquiry = inquiry_of(f"{folder}/known.py:known", question="price", rho=0.25)
    assert isinstance(inquiry, PriceInquiry)
    assert inquiry.bounds == {"limit": 16}, "4 / 16 is 0.25"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Record:
    folder = tmp_path_factory.mktemp("known")
    (folder / "known.py").write_text(KNOWN)
    return price(folder, "known", pairs=2500)


def test_rows_are_in_order_and_say_what_they_are(found: Record) -> None:
    named = [what for what, _, _ in rows_of(answer_of(found), found.theorem)]
    assert named[0] == "limit: on the worst source none can do with less"
    assert named[1].startswith("plain")
    assert named[-1] == "Theorem X asks for"
    document = json.loads(to_json(found))
    assert (document["schema"], document["answer"]["question"]) == ("auditor.record/2", "price")
    read, question = as_record(document), find_question("price")
    assert list(question.parts(read)) == list(question.parts(found))
    assert as_text(read, verbose=True) == as_text(found, verbose=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_size_that_does_not_run_is_no_measurement_above_one_that_does(folder: Path, jobs: int) -> None:
    found = price(folder, "edge", pairs=2000, jobs=jobs)
    (one,) = answer_of(found).asked
    assert (one.low or 0) <= 1
    assert [finding.kind for finding in found.findings] == ["second-process", "refused"]
    assert "no more than 20 rows" in found.findings[1].message


def test_a_size_that_a_subject_does_not_have_ends_the_search_there(folder: Path) -> None:
    """Its declared size refuses what is more than twice the theorem's; no size of the others is reproducible."""
    found = price(folder, "within", pairs=2000)
    (one,) = answer_of(found).asked
    assert one.high is None
    assert one.low is not None
    assert 20 <= one.low <= 40
    assert "must be at most 2" in {one.kind: one.message for one in found.findings}["refused"]


def test_a_size_below_those_that_a_subject_has_is_too_small(folder: Path) -> None:
    found = price(folder, "short", pairs=2000, rho=0.2)
    (one,) = answer_of(found).asked
    assert one.low is not None
    assert one.high is not None
    assert 13 <= one.low < 16 <= one.high <= 20
    assert "must be at least 0.8" in {one.kind: one.message for one in found.findings}["refused"]


def test_a_parameter_rho_is_given_the_target_unless_its_user_says_otherwise(folder: Path) -> None:
    assert price(folder, "asks", "norm", rho=0.2, pairs=600).settings["rho"] == 0.2
    assert price(folder, "asks", "norm", rho=0.2, pairs=600, texts={"rho": "0.7"}).settings["rho"] == 0.7
    assert price(folder, "asks", "norm", pairs=600).settings["rho"] == 0.5


def test_a_subject_that_draws_what_its_theorem_asks_is_scaled() -> None:
    """rHeavyHitters takes 3e9 rows by its lemma and a few hundred in truth; rho is 2 x 1e9 smaller there."""
    target = "algorithms.heavy_hitters:r_heavy_hitters"
    found = ask("price", target, rho=0.3, pairs=800, confidence=0.99)
    promised = answer_of(found).promised
    assert promised is not None
    assert promised > 10**8
    rho = answer_of(found).asked[0]
    assert rho.high is not None
    assert rho.high < 10**5
    assert all(row.size >= 20 for row in found.cells), "the candidates are never scaled away"


def test_what_is_known_holds_whenever_one_looks(folder: Path) -> None:
    """Cut short after any number of pairs, both ends of the bracket hold the size that is known, and nothing raises."""
    for most in (0, 1, 40, 200, 600, 2000):
        inquiry: Any = inquiry_of(f"{folder}/known.py:never", "norm", "price", rho=0.2)
        cells = inquiry.counted  # grows while it runs
        done = drawn(inquiry, lambda cell, of=cells: min(1, 20 / of[cell].cell.size), np.random.default_rng(1), most)
        said = inquiry.answer()
        assert said.pairs == inquiry.outlook().done == done
        for one in said.fields.asked:
            assert one.low is None or one.low < 100
            assert one.high is None or one.high >= 100
        assert (
            (inquiry.verdict().outcome == "pass") == all(one.high for one in said.fields.asked) == bool(said.measures)
        )


def test_the_first_size_must_run_and_one_that_ran_must_go_on(folder: Path) -> None:
    inquiry = inquiry_of(f"{folder}/known.py:never", "norm", "price")
    with pytest.raises(SubjectError, match=r"^no$"):
        inquiry.failed(0, SubjectError("no"))
    inquiry.counted[0].add(Trial(0, None, None, 0.0))
    with pytest.raises(SubjectError, match=r"^at 1,000 rows: no$"):
        inquiry.failed(0, SubjectError("no"))


@pytest.mark.parametrize(("rows", "is_beyond"), [(400, False), (40, True)])
def test_sizes_beyond_a_data_set_are_said_to_be_redraws(rows: int, is_beyond: bool) -> None:
    """rho = 0.1 takes about 100 rows, of which one data set has enough."""

    def first(sample: Any, r: np.random.Generator) -> float:
        return float(sample[0]) if r.random() < 10 / len(sample) else 0.0

    record = ask("price", first, np.arange(float(rows)), rho=0.1, pairs=4000)
    (claim,) = answer_of(record).asked
    assert claim.high is not None
    assert (claim.high > rows) == is_beyond
    assert record.size == rows, "which is asked first"
    assert (f"from the {rows} of the data set" in record.reason) == is_beyond
    assert ("redrawn" in {one.kind for one in record.findings if one.severity == "warning"}) == is_beyond


def test_a_forecast_says_for_which_size_it_is() -> None:
    def sign(sample: Any, r: Any) -> bool:
        return bool(sample.mean() > 0.1)

    assert " if 1,000 rows do; if not, up to 64 times" in inquiry_of(sign, "norm", "price").besides
    assert " if 30 rows do" in inquiry_of(sign, np.arange(30.0), "price").besides
    sizes = inquiry_of(sign, "norm", "curve", vary="size=10:1000:log3")
    assert sizes.besides == " with 10 rows; more rows, up to 1,000, take longer"
    assert inquiry_of(sign, "norm(scale={scale})", "curve", size=10, vary="scale=1,2").besides == ""


def test_without_a_truth_one_claim_has_all_of_the_error(folder: Path) -> None:
    """The accuracy of `known` is not judged where its source's truth is not known: as if it had declared none."""
    two = inquiry_of(f"{folder}/known.py:known", None, "price")
    assert isinstance(two, PriceInquiry)
    gate = two.claims[0].gate
    two.opened(0, replace(make_bench(two.cells[0]), judges=False))
    (one,) = two.claims
    assert one.gate.alpha_pass == pytest.approx(4 * gate.alpha_pass)
    assert two.plan.budget == one.budget == 10_000


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"rho": 1.5}, "rho=1.5 must be in"),
        ({"rho": 1e-9}, "rho=1e-09 would take more than"),
        ({"pairs": 0}, "pairs=0 must be an integer of at least"),
        ({"pairs": 100}, r"pairs=100 is too few to show that any size is enough: use --pairs \d+ or more"),
        ({"confidence": 2.0}, "confidence"),
        ({"size": 10}, "the size is what price looks for"),
    ],
)
def test_what_cannot_be_asked(folder: Path, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        price(folder, "known", **options)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (7, 7, "7"),
        (6, 7, "7"),
        (None, 1, "1"),
        (None, 9, "1 to 9"),
        (99, 1200, "100 to 1,200"),
        (50, None, "above 50"),
        (None, None, "not found"),
    ],
)
def test_a_bracket_as_text(low: int | None, high: int | None, text: str) -> None:
    assert size_text(low, high) == text


@pytest.mark.parametrize(
    ("words", "code", "verdict", "complaint"),
    [
        (["known", "--pairs", "2500"], 0, "pass", "PRICE known.py:known"),
        (["bold", "--pairs", "1200"], 1, "fail", "Theorem Y promises it with 20"),
        (["never"], 2, None, "declares no source"),
        (["nobody"], 2, None, "nobody"),
        (["never", "--source", "norm", "--pairs", "600"], 3, "inconclusive", "Even 64,000 rows are too few for rho"),
    ],
)
def test_exit_codes(
    command: Any, folder: Path, words: list[str], code: int, verdict: str | None, complaint: str
) -> None:
    name, *options = words
    found, out, err = command("price", f"known.py:{name}", *options, "--json", "price.json", cwd=folder, columns=40)
    assert found == code
    assert max(map(len, out.splitlines()), default=0) <= 40
    assert complaint in re.sub(r"\s+", " ", out + err)
    assert "Traceback" not in err
    if verdict is None:
        return
    record = read_record(folder / "price.json")
    (one, *_) = answer_of(record).asked
    assert record.verdict == verdict
    assert [finding.kind for finding in record.findings] == (["above-promise"] if verdict == "fail" else [])
    if verdict == "inconclusive":  # no size mends it, so there is no upper end
        assert (one.high, record.measures) == (None, [])
        assert one.low is not None
        assert one.low >= 1000


def test_no_size_above_the_largest_that_was_asked_for_is_tried() -> None:
    asked: Any = {"rho": 0.1, "pairs": 2500}
    free = ask("price", lambda sample, r: bool(sample.mean() > -0.02), "norm", **asked)
    assert max(row.size for row in free.cells) > 1500
    held = ask("price", lambda sample, r: bool(sample.mean() > -0.02), "norm", **asked, most=1500)
    assert max(row.size for row in held.cells) <= 1500
    with pytest.raises(UsageError, match="most=0"):
        ask("price", lambda sample, r: 1, "norm", most=0)
