from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable
from operator import length_hint
from typing import Any

import msgspec
import numpy as np
import pytest
from support.requests import StopsAfter, audit, carried_out, request_of, timeless

import auditor
from auditor.engine.engine import Keep, RunOptions, Serial
from auditor.errors import UsageError
from auditor.flow.question import Inquiry, find_question
from auditor.flow.record import read_record, to_json
from auditor.flow.run import Silent, carry_out
from auditor.trials.preflight import PAIRS
from auditor.trials.trial import Bench, Trial


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def rounded(sample: Any, r: np.random.Generator, *, digits: int = 1) -> float:
    return round(float(sample.mean()), digits)


def first(sample: Any, r: np.random.Generator) -> float:
    return float(sample[0])


def constant(sample: Any, r: np.random.Generator) -> int:
    return 1


def test_the_same_plan_gives_the_same_record_times_apart() -> None:
    records = [audit(rounded, uniform, size=50, seed=3) for _ in range(2)]
    assert timeless(records[0]) == timeless(records[1])
    assert timeless(audit(rounded, uniform, size=50, seed=4)) != timeless(records[0])


def test_a_record_reads_back_from_its_json(tmp_path: Any) -> None:
    record = audit(first, uniform, size=2)
    (tmp_path / "record.json").write_bytes(to_json(record))
    back = read_record(tmp_path / "record.json")
    assert back.answer == msgspec.to_builtins(record.answer)  # a question's own part is data to whoever reads a file
    assert msgspec.structs.replace(back, answer=record.answer) == record
    document = msgspec.json.decode(to_json(record))
    promised = (
        "schema auditor_version subject code_hash params source sample_kind size sample_scale seed design target "
        "claimed expect confidence budget verdict reason decided_by error_spent pairs mismatches rho accuracy view "
        "randomness overridden preflight findings examples cost environment question asked unit measures cells answer"
    )
    assert set(promised.split()) <= set(document)
    assert document["schema"] == "auditor.record/2"
    assert set(document["rho"]) == {"estimate", "low", "high", "confidence", "method"}


def test_whoever_runs_the_trials_knows_how_many_are_left(tmp_path: Any) -> None:
    """After the pairs of the preflight too, and after those of a ledger: the last blocks of workers are small then."""
    told = []

    class Told(Serial):
        def trials(self, bench: Bench, wanted: Iterable[int], keep: Keep) -> Generator[Trial, None, None]:
            told.append(length_hint(wanted, -1))
            return super().trials(bench, wanted, keep)

    def run(**options: Any) -> None:
        request = request_of(constant, "norm", size=5, fixed=40)
        begun, how = find_question("rho").begin(request), RunOptions(second_process=False, **options)
        carry_out(begun, request, how, engine=Told())

    run()
    file = str(tmp_path / "audits.sqlite")
    carried_out(constant, "norm", size=5, fixed=40, how=RunOptions(ledger=file), watch=StopsAfter(10))
    run(ledger=file, resume=True)
    assert told == [40 - PAIRS, 30]


def test_counts_are_those_of_running_every_pair_by_hand() -> None:
    """The audit against a loop that uses only the public replay."""
    record = audit(rounded, uniform, size=20, fixed=40, params={"digits": 1})
    by_hand = [auditor.replay(rounded, uniform, size=20, params={"digits": 1}, pair=i) for i in range(40)]
    assert record.mismatches == sum(pair.outputs[0] != pair.outputs[1] for pair in by_hand)
    assert 0 < record.mismatches < 40
    assert [e.pair for e in record.examples] == [i for i in range(40) if by_hand[i].difference][:3]
    assert record.cost.runs == 80


def test_the_two_samples_of_a_pair_are_independent_and_r_is_shared() -> None:
    seen: list[tuple[float, float]] = []

    def spy(sample: Any, r: np.random.Generator) -> int:
        seen.append((float(sample[0]), float(r.random())))
        return 0

    audit(spy, uniform, size=1, fixed=2000, rho=0.1)
    first = [seen[3 * index : 3 * index + 2] for index in range(3)]  # each with a run that repeats its first
    pairs = np.array([*first, *np.array(seen[-2 * 1997 :]).reshape(1997, 2, 2)])
    assert (pairs[:, 0, 1] == pairs[:, 1, 1]).all()
    assert len(set(pairs[:, 0, 1])) == 2000
    assert len(set(pairs[:, :, 0].ravel())) == 4000
    columns = np.stack([pairs[:, 0, 0], pairs[:, 1, 0], pairs[:, 0, 1]])
    correlations = np.corrcoef(columns)[np.triu_indices(3, 1)]
    assert (np.abs(correlations) < 5.2 / 2000**0.5).all(), correlations  # false alarm below 1e-6


def test_options_override_declarations_and_the_record_says_so() -> None:
    record = audit("algorithms.statistical_query:rstat", "bernoulli(0.2)", size=2000, rho=0.2)
    assert record.overridden == {
        "source": ("bernoulli(0.5)", "bernoulli(0.2)"),
        "size": (96_624, 2000),
        "rho": (0.1, 0.2),
    }
    assert record.sample_scale == pytest.approx(2000 / 96_624)
    assert (record.target, record.claimed, record.theorem) == (0.2, 0.1, "Theorem 2.3")
    assert audit("algorithms.statistical_query:rstat").overridden == {}


@pytest.mark.parametrize(
    ("source", "size", "words"), [(None, 10, "declares no source"), (uniform, None, "declares no size, .* --size 1000")]
)
def test_a_subject_without_source_or_size_gets_an_example(source: Any, size: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        audit(rounded, source, size=size)


def test_a_subject_that_raises_ends_the_audit_with_what_was_learnt() -> None:
    def raises_at_37(sample: Any, r: np.random.Generator) -> int:
        if next(calls) == 8 + 3 + 2 * (37 - 3):  # the first three pairs are run in the preflight
            raise ZeroDivisionError("no luck")
        return 1

    calls = itertools.count()
    record = audit(raises_at_37, uniform, size=3, rho=0.05)
    assert (record.verdict, record.pairs, record.decided_by) == ("error", 37, "error")
    assert "raised ZeroDivisionError in the first run of pair 37" in record.reason
    (finding,) = [found for found in record.findings if found.kind == "raised"]
    assert "no luck" in finding.message
    assert "raises_at_37" in finding.message
    assert "auditor/trials/trial.py" not in finding.message


def test_a_fixed_design_cut_short_falls_back_to_the_sequence() -> None:
    record = carried_out(constant, uniform, watch=StopsAfter(20), size=1, fixed=50)
    assert "sequence" in record.rho.method
    assert audit(constant, uniform, size=1, fixed=50).rho.method == "Clopper-Pearson"


def test_watchers_hear_everything_in_order() -> None:
    heard: list[str] = []

    class Listener:
        def planned(self, inquiry: Inquiry) -> None:
            heard.append("planned")

        def timed(self, seconds_a_run: float) -> None:
            heard.append("timed")

        def advanced(self, inquiry: Inquiry, seconds: float) -> None:
            heard.append(f"{inquiry.outlook().done}")

        def notice(self, words: str) -> None:
            heard.append(words)

    carried_out(constant, uniform, watch=Listener(), size=1)
    assert heard == ["planned", "timed", *map(str, range(1, 34))]


def test_accuracy_is_judged_on_first_runs_with_a_fresh_r() -> None:
    def low_half(output: float, *, source: Any, r: np.random.Generator, params: Any) -> bool:
        return output == r.random()

    @auditor.subject(source="uniform", size=1, accuracy=low_half, delta=0.2)
    def echo(sample: Any, r: np.random.Generator) -> float:
        return float(r.random())

    record = audit(echo)
    assert record.accuracy is not None
    assert (record.accuracy.failures, record.accuracy.runs, record.verdict) == (0, 33, "pass")

    @auditor.subject(source="uniform", size=1, accuracy=low_half, delta=0.2)
    def off(sample: Any, r: np.random.Generator) -> float:
        return 2.0

    record = audit(off)
    assert (record.verdict, record.decided_by) == ("fail", "accuracy")
    assert record.accuracy is not None
    assert record.accuracy.failures == record.accuracy.runs == record.pairs < 10


def test_accuracy_is_left_out_where_nobody_knows_the_truth() -> None:
    record = audit("algorithms.statistical_query:rstat", uniform, size=97_000)
    assert record.accuracy is None
    assert "accuracy-unknown" in [f.kind for f in record.findings]
    assert record.verdict == "pass"


def test_assert_reproducible_shows_the_report() -> None:
    assert auditor.assert_reproducible(constant, uniform, size=1, second_process=False).verdict == "pass"
    with pytest.raises(AssertionError, match=r"(?s)FAIL .*first.*rho is above 0.1.*differ at output"):
        auditor.assert_reproducible(first, uniform, size=1, second_process=False)


def test_size_zero_is_for_subjects_that_take_it() -> None:
    assert audit(constant, uniform, size=0).verdict == "pass"


def test_a_source_among_several_that_is_none_is_refused_before_any_pair() -> None:
    runs: list[int] = []

    def counts(sample: Any, r: np.random.Generator) -> int:
        runs.append(1)
        return 1

    with pytest.raises(UsageError, match="has no distribution 'nope'"):
        audit(counts, [uniform, "nope"], size=2)
    assert len(runs) == 8 + 3  # the preflight on the first, with its pairs


class ShowsThePlan(Silent):
    def __init__(self, raises: type[BaseException]) -> None:
        self.raises = raises

    def planned(self, inquiry: Inquiry) -> None:
        raise self.raises("while the plan is shown")


def test_an_interrupt_as_soon_as_the_plan_is_shown_gives_a_record() -> None:
    record = carried_out("constant", watch=ShowsThePlan(KeyboardInterrupt))
    assert (record.verdict, record.decided_by, record.pairs) == ("inconclusive", "interrupt", 0)


def test_a_watcher_that_fails_is_not_the_subjects_fault() -> None:
    with pytest.raises(OSError, match="while the plan is shown"):
        carried_out("constant", watch=ShowsThePlan(OSError))
