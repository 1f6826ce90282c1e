"""Is the score of the fits what it says, and is a verdict on it wrong as rarely as it says?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from support.exact import lattice
from support.requests import audit, inquiry_of

import auditor
from auditor.errors import AuditorError, BadValue, UsageError
from auditor.flow.record import as_record, to_json
from auditor.flow.verdict import Tally
from auditor.questions.judgement import ScoreCount
from auditor.questions.pairs import PairsInquiry
from auditor.report.formats.markdown import markdown
from auditor.report.page.records import page_of, page_of_several
from auditor.report.terminal import as_text
from auditor.statistics.gate import Gate
from auditor.statistics.interval import log_e_fail, log_e_pass
from auditor.subjects.scoring import Scorer
from auditor.trials.trial import Trial

ALPHA, LEAST = 0.05, 0.8
SHARE = 0.7  # of the labels that are 1


def labelled(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
    return rng.random((size, 1)), (rng.random(size) < SHARE).astype(int)


class Constant:
    """Says 1, whatever it is shown."""

    def fit(self, x: Any, y: Any) -> Constant:
        return self

    def predict(self, x: Any) -> Any:
        return np.ones(len(x), dtype=int)


def coin(output: Any, x: Any, y: Any) -> float:
    """A score that is 1 with probability LEAST, whatever the fit."""
    return float(x[0, 0] < LEAST)


coin.range = (0.0, 1.0)  # type: ignore[attr-defined]


def leaf_of(cells: int, family: int, delta: float | None) -> Any:
    """The inquiry into one of so many inputs; nothing has been run."""

    @auditor.subject(accuracy=(lambda *_, **__: True) if delta else None, delta=delta)
    def learn(sample: Any, r: Any, *, q: int = 0) -> Constant:
        return Constant()

    asked = {"score": coin, "score_at_least": LEAST, "rho": 0.2, "size": 5, "family": family}
    found: Any = inquiry_of(learn, labelled, **asked, **({"inputs": {"q": [*range(cells)]}} if cells > 1 else {}))
    return found.leaves[0] if cells > 1 else found


@pytest.mark.parametrize(("cells", "family", "delta"), [(1, 1, None), (3, 1, None), (1, 2, None), (3, 2, 0.1)])
def test_a_score_decides_where_its_evidence_reaches_its_share(cells: int, family: int, delta: float | None) -> None:
    """With rho shown, a pass takes evidence 1 / alpha; a fail the number of all ways to fail over alpha."""
    leaf, ways = leaf_of(cells, family, delta), cells * family * (2 if delta is None else 3)
    assert isinstance(leaf, PairsInquiry)
    leaf.tally = Tally(300, 0, 300 if delta else 0, 0)
    leaf.scores.pairs, leaf.scores.total = 1, 0.5
    decided: dict[float, set[tuple[int, int]]] = {}
    for n, k, leaf.scores.lost in lattice(40):
        expected = "pass" if log_e_pass(n, k, 1 - LEAST) >= -np.log(ALPHA) else "inconclusive"
        for share in (ALPHA / ways / 2, ALPHA / ways, 2 * ALPHA / ways):
            if log_e_fail(n, k, 1 - LEAST) >= -np.log(share):
                decided.setdefault(share, set()).add((n, k))
                expected = "fail" if share == ALPHA / ways else expected
        assert leaf.outcome() == expected, (n, k)
        assert n % 8 or leaf.verdict().outcome == expected, (n, k)
    assert len({len(found) for found in decided.values()}) == 3, "half and twice the share would decide elsewhere"


def test_rho_fails_with_its_share_where_a_score_may_fail_too() -> None:
    plain, scored = Gate(0.2, ALPHA), Gate(0.2, ALPHA, scored=True)
    assert (plain.alpha_fail, scored.alpha_fail) == (ALPHA, ALPHA / 2)
    assert plain.alpha_pass == scored.alpha_pass == ALPHA
    assert Gate(0.2, ALPHA, scored=True, delta=0.1, family=2).alpha_fail == pytest.approx(ALPHA / 6)


def test_a_verdict_on_a_score_at_the_edge_is_wrong_as_rarely_as_it_says() -> None:
    """300 audits of 200 pairs each, whose mean score is the one that is asked for, looked at after every pair: at
    most alpha of them pass, and at most alpha / 2 fail; false alarm 1e-6 each."""
    audits, pairs, gate, rng = 300, 200, Gate(0.2, ALPHA, scored=True), np.random.default_rng(20261118)
    scorer, ended = Scorer("coin", coin, (0.0, 1.0)), {"pass": 0, "fail": 0, "inconclusive": 0}
    draws = (rng.random((audits, pairs, 2)) < LEAST).astype(float)
    for one in draws:
        count, state = ScoreCount(), "inconclusive"
        for index, scores in enumerate(one.tolist()):
            count.add(scorer, Trial(index, None, None, 0.0, scores=tuple(scores)))
            if index % 10 == 9 and (state := count.state(LEAST, gate)) != "inconclusive":
                break
        ended[state] += 1
    for state, allowed in (("pass", gate.alpha_pass), ("fail", gate.alpha_fail)):
        most = int(binom.isf(1e-6, audits, allowed))
        print(f"{state}: {ended[state]} of {audits}, allowed {most} (share {allowed}, false alarm 1e-6)")
        assert ended[state] <= most
    assert ended["inconclusive"] > audits / 2


def test_the_interval_of_a_known_score_holds_at_several_numbers_of_pairs() -> None:
    """A constant learner's accuracy is the share of its label, exactly: 300 seeds, false alarm 1e-6."""
    missed, seeds = 0, 300
    scorer = Scorer("accuracy", coin, (0.0, 1.0))
    for seed in range(seeds):
        rng, count = np.random.default_rng(seed), ScoreCount()
        outside = False
        for index in range(60):
            scores = rng.binomial(4, SHARE, 2) / 4
            count.add(scorer, Trial(index, None, None, 0.0, scores=tuple(scores.tolist())))
            if index in (5, 20, 59):
                low, high = count.limits(scorer, ALPHA / 2)
                outside = outside or not low <= SHARE <= high
        missed += outside
    most = int(binom.isf(1e-6, seeds, ALPHA))
    print(f"{missed} of {seeds} intervals missed at some time, allowed {most} (false alarm 1e-6)")
    assert missed <= most


def test_a_constant_learner_passes_stability_and_fails_its_score() -> None:
    stable = audit(Constant, labelled, size=20, measure="churn")
    assert stable.verdict == "pass"
    assert stable.score is not None
    assert abs(stable.score.estimate - SHARE) < 6 * np.sqrt(SHARE * (1 - SHARE) / (1000 * 2 * stable.score.pairs))
    judged = audit(Constant, labelled, size=20, measure="churn", score="accuracy", score_at_least=0.9)
    assert (judged.verdict, judged.decided_by) == ("fail", "score")
    assert judged.reason.startswith("The mean accuracy is about 0.69")
    assert judged.reason.endswith("below 0.9, which is asked for")
    good = audit(Constant, labelled, size=20, measure="churn", score="accuracy", score_at_least=0.5)
    assert (good.verdict, good.decided_by) == ("pass", "churn")
    assert ", where 0.5 is asked for" in good.reason


def test_what_neither_passes_nor_fails_is_inconclusive_and_says_why() -> None:
    asked = {"size": 20, "score": "accuracy", "score_at_least": SHARE}
    record = audit(Constant, labelled, rho=0.1, pairs=40, **asked)
    assert (record.verdict, record.decided_by) == ("inconclusive", "budget")
    assert "which does not show whether it is at least 0.7, which is asked for" in record.reason
    fixed = audit(Constant, labelled, rho=0.1, fixed=40, **asked)
    assert fixed.verdict == "inconclusive"
    both = audit(lambda sample, r: Constant() if r.random() < 0.9 else Flipped(), labelled, rho=0.1, pairs=40, **asked)
    assert both.verdict in ("inconclusive", "pass")


class Flipped(Constant):
    def predict(self, x: Any) -> Any:
        return np.zeros(len(x), dtype=int)


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        ({"score_at_least": 1.0}, BadValue, "must be in (0, 1), between the least and the largest accuracy"),
        ({"score_at_least": 0}, BadValue, "must be in (0, 1)"),
        ({"score_at_least": 0.999, "pairs": 100}, BadValue, "cannot show a mean accuracy of 0.999"),
        ({"score_at_least": 0.5, "score": None}, UsageError, "--score-at-least needs a score with a known range"),
        ({"score_at_least": 0.5, "sample": "counts"}, UsageError, "takes rows"),
        (
            {"score_at_least": 5.0, "score": "neg_mean_squared_error"},
            UsageError,
            "neg_mean_squared_error has none: use",
        ),
    ],
)
def test_a_score_that_cannot_be_asked_for_is_refused(asked: Any, kind: type[AuditorError], words: str) -> None:
    def learn(sample: Any, r: Any) -> Constant:
        return Constant()

    with pytest.raises(kind) as caught:
        audit(learn, labelled, **{"size": 20, "score": "accuracy", **asked})
    assert words in str(caught.value)


def test_several_sources_must_all_be_good_enough_and_the_least_is_reported() -> None:
    def rarer(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
        return rng.random((size, 1)), (rng.random(size) < 0.5).astype(int)

    asked: dict[str, Any] = {"size": 20, "rho": 0.2, "score": "accuracy"}
    record = auditor.audit(Constant, [labelled, rarer], **asked, score_at_least=0.4, second_process=False)
    assert record.verdict == "pass"
    assert record.reason.endswith("; the mean accuracy is at least 0.4 with each of them")
    assert record.score is not None
    assert record.score.estimate == min(cell.score or 0 for cell in record.cells) == pytest.approx(0.5, abs=0.05)
    assert record.score.low is not None
    assert record.score.low <= record.score.estimate <= (record.score.high or 0)
    failed = auditor.audit(Constant, [labelled, rarer], **asked, score_at_least=0.6, second_process=False)
    assert failed.verdict == "fail"
    assert "the mean accuracy is about 0.5" in failed.reason


WINE: dict[str, Any] = {"source": "sklearn:load_wine", "measure": "churn", "rho": 0.3}


def test_report_record_page_and_gate_show_the_score_beside_the_stability() -> None:
    record = audit(DecisionTreeClassifier, **WINE, score_at_least=0.7)
    assert record.verdict == "pass"
    again = as_record(json.loads(to_json(record)))
    assert again.score == record.score is not None
    for text in (as_text(record), as_text(record, verbose=True), markdown([record], 0.95)):
        assert ", by its own score on rows that the fit has not seen; between 0." in " ".join(text.split())
        assert "at least 0.7 is asked for" in " ".join(text.split())
    page = page_of(record)
    assert "score: on rows that a fit has not seen, the larger the better; the black line is what is asked for" in page
    other = audit(DummyClassifier(strategy="prior"), **WINE)
    assert "| score |" in markdown([record, other], 0.95)
    assert f"{record.score.estimate:.3g} (at least 0.7)" in page_of_several([record, other], 0.95)
    plain = audit(lambda sample, r: 0, "bernoulli(0.5)", size=2)
    assert plain.score is None
    assert "| score |" not in markdown([plain, plain], 0.95)


def test_an_assertion_and_a_replay_show_it_too() -> None:
    with pytest.raises(AssertionError, match="The mean score is about 0"):
        auditor.assert_reproducible(DummyClassifier(strategy="prior"), **WINE, score_at_least=0.7, second_process=False)
    found = auditor.replay(DecisionTreeClassifier, "sklearn:load_wine", pair=3)
    assert len(found.scores) == 2
    assert all(one is not None and 0.5 < one <= 1 for one in found.scores)


class Broken(DecisionTreeClassifier):
    def score(self, x: Any, y: Any, sample_weight: Any = None) -> float:
        raise ValueError


def test_an_estimator_whose_own_score_raises_is_audited_and_says_so() -> None:
    record = audit(Broken, **WINE)
    assert record.score is None
    assert record.verdict == "pass"
    assert [one.severity for one in record.findings if one.kind == "score"] == ["info"]


ONE_WORD = """
import numpy as np

class Says:
    def __init__(self, word=0):
        self.word = word

    def fit(self, x, y):
        return self

    def predict(self, x):
        return np.full(len(x), self.word)

    def score(self, x, y):
        return float(np.mean(self.predict(x) == y))

def rows(rng, size):
    return rng.random((size, 1)), rng.integers(0, 2, size)
"""


def test_a_gate_reads_it_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from auditor.cli.command_line import run

    (tmp_path / "one_word.py").write_text(ONE_WORD)
    entry = 'target = "one_word.py:Says"\nsource = "one_word.py:rows"\nsize = 60\nmeasure = "churn"\nrho = 0.9\n'
    entry += 'params = {word = 1}\nscore = "accuracy"\nscore_at_least = 0.7\n'
    (tmp_path / "pyproject.toml").write_text(f"[[tool.auditor.subject]]\n{entry}")
    monkeypatch.chdir(tmp_path)
    assert run(["gate", "--json", "gate.json"]) == 1
    (document,) = [json.loads((tmp_path / "gate.json").read_text())]
    record = document[0] if isinstance(document, list) else document
    assert (record["verdict"], record["decided_by"], record["score"]["at_least"]) == ("fail", "score", 0.7)
