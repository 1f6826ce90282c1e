"""What holds of every wrapper: it is a learner, its formula is a probability and that of its finishes, and what it
cannot take gets a sentence: NaN, infinities, masked elements and numbers beyond all floats among it."""

from __future__ import annotations

import math
import pickle
import random
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from support.exact import check_frequency, finished_apart
from support.requests import audit

from auditor import AuditorError, Randomness, Sample, repair, subject
from auditor.errors import BadValue, NotComparable
from auditor.questions.repair.settings import read_setting
from auditor.randomness import as_randomness, from_key, key_of, root_key
from auditor.repair import (
    agreed,
    aligned,
    chosen,
    conformal,
    correlated,
    erm,
    rounded,
    rounded_up,
    significant,
    thresholded,
    voted,
)
from auditor.repair.agreeing import leader
from auditor.repair.repaired import pieces
from auditor.sources.frames import row_names
from auditor.subjects.own_code import code_of
from auditor.subjects.subject import load_subject
from auditor.values import same

NAN, INF, BEYOND = math.nan, math.inf, 10**400
R = as_randomness(0)
ROWS = np.arange(10.0)
HALF = (0.25, 0.75)


def itself(sample, r):
    return sample


def mean(sample, r, *, plus=0.0):
    return float(np.mean(sample)) + plus


def constant(output: Any) -> Callable[..., Any]:
    return lambda sample, r: output


# The formula.


def core_of(wrapper: Any, output: Any) -> Any:
    """The core of what a learner returned; of `agreed` and `voted`, of what it returned for each chunk."""
    if isinstance(wrapper, agreed):
        return [leader([*string]) for string in output]
    return [*output] if isinstance(wrapper, voted) else wrapper.core_of(output)


def check_formula(wrapper: Any, first: Any, second: Any) -> float:
    m = wrapper.mismatch(first, second)
    assert 0 <= m <= 1
    assert m == pytest.approx(wrapper.mismatch(second, first), abs=1e-9)
    assert wrapper.mismatch(first, first) == 0.0
    return float(m)


CLOSE: list[tuple[Any, Any]] = [
    (1.0, 1.2),
    (np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.9, 2.05])),
    ({"a": 1.0, "b": [2.0]}, {"a": 1.1, "b": [2.2]}),
    (2.0**40 + 0.25, 2.0**40 + 0.5),
]
CENTRES = np.array([[0.0, 0.0], [4.0, 1.0], [0.0, 5.0]])
SCORES = {"a": 1.0, "b": 0.8, "c": 0.1}, {"a": 0.9, "b": 0.9, "c": 0.2}
VOTES = [
    ("aab", "abb"),
    ("aab", "bbb"),
    ("aac", "abb"),  # two other classes: lower and upper are not the same
    ("bbc", "aab"),
    ("aab", "aabc"),  # one run has seen a third class
    ("aabbc", "abbcc"),
    ("aaabc", "abbbd"),
]
COUPLED: list[Any] = [
    *[(rounded(itself, 0.8), *pair) for pair in CLOSE],
    *[(rounded(itself, 0.8, tiling=tiling), *pair) for tiling in ("foams", "best") for pair in CLOSE],
    *[(rounded(itself, 0.8, tiling=tiling), *CLOSE[1]) for tiling in ("D", "E8", "Leech")],
    *[
        (rounded_up(itself, 0.7), *pair)
        for pair in [(0.1, 0.4), (-5.0, 0.2), (1e9, 1e9 + 0.25), (0.3, 0.3), (INF, 2.0)]
    ],
    *[(thresholded(itself, 0, 0.5), *pair) for pair in [(0.1, 0.4), (-5.0, 0.2), (-INF, INF), (0.3, 0.3), (-9, -8)]],
    (significant(itself, width=3.0), 0.04, 0.001),
    *[(chosen(itself, 2.0, top=top), *SCORES) for top in (1, 2)],
    (correlated(itself), {"a": 0.5, "b": 0.3, "c": 0.2}, {"c": 0.3, "d": 0.1, "a": 0.6}),
    (erm(itself, 1.0, rho=0.5), {"a": 0.1, "b": 0.3, "c": 0.9}, {"c": 0.8, "a": 0.2, "b": 0.1}),
    (erm(itself, 1.0, rho=0.5, realisable=True), [0.0, 0.3, 0.9, 0.2], np.array([0.0, 0.1, 0.7, 0.4])),
    *[
        (aligned(itself, 0.5), CENTRES, (CENTRES + from_key(root_key(i)).uniform(-0.1, 0.1, size=(3, 2)))[[1, 2, 0]])
        for i in range(3)
    ],
    *[
        (agreed(itself, 3, strings=2), *pair)
        for pair in [
            (["aab", "aaa"], ["aab", "aab"]),
            (["aaaab", "bbbbb"], ["aaabb", "bbbaa"]),
            (["abc", "aab"], ["aab", "bba"]),
            (["aab", "bbb"], ["abc", "aaa"]),
        ]
    ],
    *[(voted(itself, 3), *pair) for pair in VOTES],
    *[(voted(itself, 3, between=HALF), *pair) for pair in VOTES[2::2]],
    *[
        pytest.param(voted(itself, 3, between=HALF), *pair, marks=pytest.mark.nightly)
        for pair in (*VOTES[:2], *VOTES[3::2])
    ],
]


@pytest.mark.parametrize(("wrapper", "first", "second"), COUPLED)
def test_cores_finish_apart_as_often_as_the_formula_says(wrapper: Any, first: Any, second: Any) -> None:
    """False alarm 1e-8 each. Foams, lattices, several choices and clusters have an upper bound."""
    one, other = (core_of(wrapper, side) for side in (first, second))
    is_upper, n = wrapper.mismatch_is == "upper", 200 if "tiling" in repr(wrapper) else 400
    assert is_upper == (isinstance(wrapper, aligned) or "tiling" in repr(wrapper) or "top=2" in repr(wrapper))
    check_frequency(
        finished_apart(wrapper, one, other, n), n, check_formula(wrapper, one, other), alarm=1e-8, is_upper=is_upper
    )


shares = st.floats(0, 1)
limits = st.floats(-1e6, 1e6) | st.sampled_from([INF, -INF])
strings = st.lists(st.lists(st.sampled_from([0, 1, (2, "x")]), min_size=3, max_size=8), min_size=2, max_size=2)
tables = st.dictionaries(st.sampled_from("abcdef"), st.floats(-2, 2), min_size=2)
ballots = st.lists(st.sampled_from("abc"), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("wrapper", "outputs"),
    [
        (rounded_up(itself, 0.5), limits),
        (thresholded(itself, -1.0, 0.5), st.floats(-2, 2) | st.sampled_from([INF, -INF])),
        (significant(itself, width=3.0), shares),
        *[(chosen(itself, 2.0, top=top), tables) for top in (1, 2)],
        (erm(itself, 0.5), arrays(float, 5, elements=shares)),
        (aligned(itself, 0.75), arrays(float, st.tuples(st.integers(1, 3), st.just(2)), elements=st.floats(-3, 3))),
        (agreed(itself, 3, strings=2), strings),
        *[(voted(itself, 3, between=between), ballots) for between in ((0.0, 1.0), HALF)],
    ],
)
@given(st.data())
def test_mismatch_is_a_probability_symmetric_and_none_of_itself(wrapper: Any, outputs: Any, data: Any) -> None:
    check_formula(wrapper, *(core_of(wrapper, data.draw(outputs)) for _ in range(2)))


# A wrapper is a learner.

WRAPPED: dict[str, Callable[[Any], Any]] = {
    "rounded": lambda learner: rounded(learner, 0.3),
    "rounded_up": lambda learner: rounded_up(learner, 0.3),
    "thresholded": lambda learner: thresholded(learner, -0.2, 0.2),
    "conformal": lambda learner: read_setting("conformal(a=0.1, width=0.5)").wrap(learner),
    "agreed": lambda learner: agreed(learner, 5),
    "sorted_rows": repair.sorted_rows,
    "single_thread": repair.single_thread,
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_run_is_its_core_finished(name: str) -> None:
    learner = mean if name != "conformal" else lambda sample, r, *, plus=0.0: sample + plus
    wrapper, rows, r = WRAPPED[name](learner), np.linspace(-1, 1.1, 40), from_key(root_key(3))
    core = wrapper.core(rows, r.child("core"), plus=0.1)
    assert same(wrapper(rows, r, plus=0.1), wrapper.finish(core, r.child("finish")))
    assert same(wrapper(rows, r), wrapper(rows, 3))
    assert repr(wrapper).startswith(f"{name}({'mean' if learner is mean else ''}")


def test_the_learner_gets_r_and_the_sample_as_it_asks_for_them() -> None:
    received: list[Any] = []

    def as_number(sample: Sample, r: int) -> float:
        received.append((sample, r))
        return sample.mean()

    def as_generator(sample: Any, r: random.Random) -> float:
        received.append((sample, r.random()))
        return 0.0

    key = root_key(9)
    rounded(as_number, 0.1)(np.arange(4.0), from_key(key))
    rounded(as_generator, 0.1)(np.arange(4.0), from_key(key))
    assert isinstance(received[0][0], Sample)
    assert received[0][1] == int(key.child("core").generate_state(1)[0])
    assert received[1][1] == random.Random(key.child("core").digest).random()


def test_what_a_learner_declares_is_still_known() -> None:
    @subject(source="norm", size=lambda half: 2 * half, claimed=0.1, sample="counts", theorem="Theorem 1")
    def learner(sample: Sample, r: Randomness, *, half: int = 20) -> float:
        return float(sample.mean())

    loaded = load_subject(rounded(learner, 0.5), {"half": 30})
    assert (loaded.declares("size"), loaded.takes_sample, loaded.randomness) == (60, True, "Generator")
    assert load_subject(rounded(learner, 0.5)).declares("size") == 40  # by the learner's own default
    assert (loaded.declared.source, loaded.declared.sample) == ("norm", "counts")
    assert (loaded.declared.claimed, loaded.declared.theorem) == (None, None)  # of the learner alone
    with pytest.raises(AuditorError, match=r"has no parameter 'hulf' \(did you mean half\?\)"):
        load_subject(rounded(learner, 0.5), {"hulf": 30})


def test_private_randomness_is_handed_on() -> None:
    def learner(sample, r, private):
        return float(private.integers(10**6))

    loaded = load_subject(rounded(learner, 0.5))
    assert loaded.private == "Generator"
    outputs = {loaded.run(np.zeros(3), root_key(1), private=root_key(i)) for i in range(5)}
    assert len(outputs) == 5


def test_the_code_that_counts_is_the_learners() -> None:
    assert [*code_of([rounded(mean, 0.1)]).files] == [*code_of([mean]).files]
    assert code_of([rounded(mean, 0.1)]).files


def test_wrappers_travel() -> None:
    wrapper = rounded(mean, {"output": 0.3})
    for copy in (pickle.loads(cloudpickle.dumps(wrapper)), load_subject(wrapper).fn):
        assert copy(np.arange(5.0), 1) == wrapper(np.arange(5.0), 1)


def test_wrappers_are_audited_and_nest() -> None:
    nested = repair.sorted_rows(rounded(mean, 50.0))
    record = audit(nested, "norm", size=30, rho=0.1, jobs=1)
    assert (record.verdict, record.mismatches) == ("pass", 0)


def test_r_must_have_children_and_its_key_does_not_depend_on_draws() -> None:
    with pytest.raises(AuditorError, match="r is Generator, and must have children: give an auditor"):
        as_randomness(np.random.default_rng(0))
    r = from_key(root_key(5))
    r.random(100)
    assert key_of(r).digest == root_key(5).digest


def test_pieces_are_disjoint_and_of_equal_size() -> None:
    found = pieces((np.arange(11), np.arange(11) * 2), 3, learner=load_subject(mean))
    assert [x.tolist() for x, _ in found] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert all((y == 2 * x).all() for x, y in found)


BUFFER = np.zeros(1)


def in_buffer(sample, r):
    BUFFER[0] = float(np.mean(sample) > 0.3)
    return BUFFER


@pytest.mark.parametrize("wrap", [agreed, voted])
def test_outputs_of_several_runs_are_those_of_each_although_all_are_one_buffer(wrap: Any) -> None:
    def copies(sample, r):
        return in_buffer(sample, r).copy()

    rows, r = np.random.default_rng(0).normal(size=90), from_key(root_key(0))
    mine, theirs = (wrap(learner, 9).core(rows, r) for learner in (in_buffer, copies))
    assert same(mine, theirs)
    assert {one.item() for one in mine} == {0.0, 1.0} if wrap is voted else 0.5 < mine[0].share < 1


# What is wrong gets a sentence.

LIMIT, TEST, SCALED = rounded_up(itself, 1.0), thresholded(itself, 0.0, 1.0), conformal(itself, 0.1, 0.05)
NOT_ONE_NUMBER: list[Any] = [NAN, "high", None, np.array([1.0, 2.0]), 1j]
SENTENCES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: pieces(ROWS, 12, learner=load_subject(mean)),
        "chunks=12 of 10 rows are empty: use fewer chunks, or a lar",
    ),
    *[
        (lambda width=width: rounded(mean, width), r"width=.* must ")
        for width in (0, -1.0, NAN, INF, "0.1", True, {}, {"a": 0})
    ],
    (
        lambda: rounded(mean, 1.0, tiling="foam"),
        r"tiling='foam' must be one of boxes, foams, D, A\*, E8, Leech, best \(did you mean foams\?\)",
    ),
    (lambda: rounded(PCA(), 0.5), "is an estimator, so name the fitted attributes that its predictions are"),
    (lambda: rounded(itself, {"n": 0.5})({"n": 3}, 0), r"output\['n'\] is 3, .* 0.5 is none, use e.g. 2"),
    (lambda: rounded(itself, 2)(2**60, 0), r"a grid holds whole numbers up to 2\^53"),
    (lambda: rounded(itself, 2, tiling="foams")([3, 4], 0), "foams round floats, and the output has whole numbers"),
    (lambda: rounded(itself, 2, tiling="E8")([3, 4], 0), "cells of E8 round floats, and the output has whole numbers"),
    (lambda: rounded(itself, 2.0, tiling="D")([3.5], 0), r"lattice='D' must be another one for a single number"),
    (lambda: rounded(itself, 0.5, tiling="A*")([2.0**43, 0.0], 0), "are too fine for floats of that size: use a width"),
    *[
        (lambda output=output: rounded(itself, 0.5)(output, 0), words)
        for output, words in [
            (NAN, "output is nan, and no cell of a grid holds that: return a finite number"),
            ({"a": 1.0, "b": np.array([[1.0, 2.0], [NAN, 0.0]])}, r"output\['b'\]\[1, 0\] is nan, and no cell"),
            (np.array([1.0, INF]), r"output\[1\] is inf, and no cell of a grid holds that"),
            (1e300, r"output is 1e\+300, and cells of width 0.5 are too fine for floats of that size: use a width of"),
            (3, "output is 3, and whole numbers stay whole on a grid of whole width: 0.5 is none, use e.g. 2"),
            ("text", "the output, 'text', has no numbers"),
            (np.arange(3), "whole numbers stay whole on a grid of whole width"),
        ]
    ],
    *[
        (lambda output=output: LIMIT(output, 0), r"the output is .*, and a grid takes one number that is not NaN")
        for output in NOT_ONE_NUMBER
    ],
    (lambda: rounded_up(itself, 0.1)(1e30, 0), r"is 1e\+30, and cells of width 0.1 are too fine for floats of that"),
    (lambda: LIMIT(BEYOND, 0), r"10+.* is beyond all floats: return a number below 1e308"),
    (lambda: rounded_up(Ridge(), 0.1), "is an estimator, and a grid takes a number: write def limit"),
    (lambda: rounded_up(itself, 0), r"width=0 must be a number above 0"),
    (lambda: conformal(Ridge(), 0.1, 0.1), "is an estimator, and a threshold takes scores: write def scores"),
    (lambda: conformal(itself, 1.0, 0.05), "a=1.0 must be above 0 and below 1"),
    (lambda: SCALED.claimed(0, 1.0, 0.05), "scores=0 must be an integer of at least 1"),
    (lambda: SCALED.claimed(10, 0.0, 0.05), "density=0.0 must be a number above 0"),
    (lambda: SCALED.claimed(10, 1.0, 0.1), r"slack=0.1 must be in \(0, min\(a, 1 - a\)\) = \(0, 0.1\), e.g. 0.02"),
    (lambda: SCALED.claimed(10, 1.0, 0.05, step=-1.0), "step=-1.0 must be 0 or above"),
    (lambda: SCALED.sample_size(0.1, 1.0, 0.05, step=0.01), r"step=0.01 must be below 1.98 rho width = 0.0099"),
    (lambda: SCALED(np.array([1.0, NAN]), 0), "the scores are .*, and a threshold takes an array of numbers"),
    (lambda: SCALED(np.ones((3, 2)), 0), "none of them NaN: one for each row of the calibration set"),
    (lambda: SCALED(np.array(["a"]), 0), "a threshold takes an array of numbers"),
    *[
        (lambda output=output: TEST(output, 0), r"the score is .*, and a threshold takes one number that is not NaN")
        for output in NOT_ONE_NUMBER
    ],
    (lambda: thresholded(itself, 1.0, 1.0), "high=1.0 must be above low=1.0"),
    (lambda: thresholded(itself, 0.0, INF), "high=inf must be a finite number"),
    (lambda: thresholded(itself, True, 2.0), "low=True must be a finite number"),
    (lambda: thresholded(itself, -1e308, 1e308), "by less than the largest float"),
    (lambda: thresholded(Ridge(), 0.0, 1.0), "is an estimator, and a threshold takes a number: write def score"),
    (lambda: significant(itself, alpha=0.5), r"alpha=0.5 must be in \(0, 1/2\)"),
    (lambda: significant(itself, width=0), "width=0 must be a number above 0"),
    (lambda: significant(itself, level="most"), "level='most' must be largest or mean"),
    *[
        (lambda p=p: significant(itself)(p, 0), r"must be a number in \[0, 1\]: return a test's .pvalue")
        for p in (1.5, -0.1, NAN, "0.05", None, np.array([0.1, 0.2]))
    ],
    (lambda: chosen(itself, 0), "strength=0 must be a number above 0"),
    (lambda: chosen(itself, 1.0, top=0), "top=0 "),
    (lambda: chosen(itself, 1.0)(3.0, 0), r"the output, 3\.0, has no candidates to choose from: give a dict of scores"),
    (lambda: chosen(itself, 1.0, top=3)({"a": 1.0, "b": 2.0}, 0), "top=3 of 2 candidates: choose fewer, or score more"),
    (
        lambda: chosen(SelectFromModel(LogisticRegression()), 1.0),
        r"leaves open how many features it takes: say so by top=, e\.g\. top=10",
    ),
    *[
        (lambda output=output: aligned(itself, 1.0)(output, 0), "has no centres: use a clusterer that leaves cluster_")
        for output in (3.0, np.arange(3.0), "text", np.zeros((0, 2)))
    ],
    (lambda: aligned(itself, 1.0)(np.array([[NAN, 1.0]]), 0), "some centres are not finite, or too large for cells so"),
    (lambda: aligned(itself, 0), "width=0 must be a number above 0"),
    (lambda: agreed(itself, 2), "chunks=2 must be an integer of at least 3"),
    (lambda: agreed(itself, 9).claimed(0.3, 0.1), r"eta=0\.3 must be in \[0, 1/4\)"),
    (lambda: agreed(itself, 9).claimed(0.1, 1), r"nu=1 must be in \[0, 1\)"),
    (lambda: voted(itself, 0), "chunks=0 must be an integer of at least 1"),
    *[
        (lambda ends=ends: voted(itself, 2, between=ends), r"must be two shares of the votes, e\.g\. \(0\.25, 0\.75\)")
        for ends in [
            (0.5, 0.5),
            (0.25, 0.5),
            (-0.25, 1.25),
            (0.75, 0.25),
            0.5,
            (0.1, "a"),
            (0.1, 0.2, 0.3),
        ]
    ],
    *[
        (lambda votes=votes: voted(itself, 2).finish(votes, R), words)
        for votes, words in [
            ([np.array([1, 2]), np.array([1])], "are of different shapes: each must label all points"),
            ([np.array([1.0, NAN]), np.array([1.0, 2.0])], "a vote is NaN, which is no label"),
            ([1, True], "True or False"),
            ([{1}, {1}], "cannot be hashed"),
            ([NAN, 1.0], "NaN"),
        ]
    ],
    (lambda: voted(itself, 3, bags=True).claimed(), "bags=True: nothing is proved of bags"),
    (lambda: voted(itself, 3, bags=True).chunks_for(0.1), "bags=True: nothing is proved of bags"),
]


@pytest.mark.parametrize(("call", "words"), [pytest.param(*row, id=str(i)) for i, row in enumerate(SENTENCES)])
def test_what_a_wrapper_cannot_take_gets_a_sentence(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(AuditorError, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: repair.boxes([BEYOND, 1.0], R),
        lambda: repair.on_grid(1.0, 0.3, INF),
        lambda: repair.on_grid(1.0, 0.3, NAN),
        lambda: repair.grid_mismatch(NAN, NAN),
        lambda: repair.grid_mismatch(1.0, 2.0, 0.0),
        lambda: repair.grid_mismatch(BEYOND, 2.0),
        lambda: repair.one_grid_mismatch(np.array([NAN]), np.array([0.0])),
        lambda: repair.foams(np.array([1e300, 0.1]), R),
        lambda: repair.foam_mismatch(np.array([NAN]), np.array([0.0])),
        lambda: repair.choose({"a": 0.0, "b": 1.0}, NAN, R),
        lambda: repair.choose({"a": BEYOND, "b": 1.0}, 1.0, R),
        lambda: repair.threshold_mismatch(NAN, 0.5, 0.0, 1.0),
        lambda: repair.threshold_mismatch(0.1, 0.5, 0.0, INF),
        lambda: repair.threshold_mismatch(0.1, 0.5, -INF, 0.0),
        lambda: repair.random_threshold(R, -INF, 0.0),
        lambda: repair.random_threshold(R, 0.0, INF),
        lambda: repair.heavy_mismatch({"a": NAN}, {"a": 0.2}, 0.1, 0.4),
        lambda: repair.first_heavy_mismatch({"a": NAN}, {"a": 0.2}, 0.1, 0.4),
        lambda: repair.first_heavy({"a": NAN}, 0.3, R),
        lambda: repair.rank_size(1e300, p=0.5, slack=0.1, cell=0.1),
        lambda: repair.rank_size(1.5, p=0.5, slack=0.1, cell=0.1),
        lambda: repair.rank_tail_size(2.0, p=0.5, slack=0.1),
        *[
            lambda p=p, slack=slack: repair.rank_tail_size(0.1, p=p, slack=slack)
            for p, slack in [(0.5, 0.6), (0.5, 0.5), (0.25, 0.25), (0.5, 0.0), (0.0, 0.1), (1.0, 0.1), (NAN, 0.1)]
        ],
    ],
)
def test_a_mechanism_refuses_what_is_no_number_with_a_sentence(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, AuditorError), match=r"\w{3,}.*:|must be"):
            call()


def test_infinities_that_agree_are_never_parted_and_others_always_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mismatch in (repair.grid_mismatch, repair.one_grid_mismatch, repair.foam_mismatch):
            one = np.array([INF, -INF, 0.25])
            assert mismatch(one, one) == 0
            assert mismatch(one, np.array([INF, INF, 0.25])) == 1
            assert mismatch(np.array([1e308]), np.array([-1e308])) == 1
        assert repair.one_grid_mismatch(np.array([INF, 0.25]), np.array([INF, 0.5])) == 0.25


@pytest.mark.parametrize(
    "wrap",
    [
        lambda learner: rounded_up(learner, 0.1),
        lambda learner: thresholded(learner, 0, 1),
        significant,
        lambda learner: conformal(learner, 0.5, 0.1),
        lambda learner: voted(learner, 2),
    ],
)
def test_no_repair_looks_under_a_mask(wrap: Callable[[Any], Any]) -> None:
    with pytest.raises(NotComparable, match="masked"):
        wrap(constant(np.ma.array([0.5], mask=[True])))(ROWS, 0)


@pytest.mark.parametrize("score", [BEYOND, Fraction(BEYOND, 3), INF])
def test_a_score_beyond_all_floats_reaches_every_threshold(score: Any) -> None:
    assert thresholded(constant(score), 0, 1)(ROWS, 0) is True
    assert thresholded(constant(-score), 0, 1)(ROWS, 0) is False


@pytest.mark.parametrize(
    "make",
    [
        lambda: rounded_up(constant(1.0), BEYOND),
        lambda: thresholded(constant(1.0), 0, BEYOND),
        lambda: rounded_up(constant(1.0), 0.1).sample_size(2.0, 1.0),
        lambda: conformal(constant(1.0), 0.1, 0.1).claimed(100, 0.5, 0.05, step="a"),  # type: ignore[arg-type]
        lambda: voted(constant(1.0), 2).chunks_for(None),  # type: ignore[arg-type]
    ],
)
def test_a_setting_that_is_no_number_in_range_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(BadValue, match="must be"):
        make()


def test_a_width_may_be_any_real_number() -> None:
    for width in (np.float32(0.5), Fraction(1, 2), np.int64(1)):
        assert rounded_up(constant(0.25), width)(ROWS, 0) >= 0.25  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["list", "dicts", "pandas", "polars", "pyarrow", "columns", "matrix", "pair"])
@pytest.mark.parametrize("bags", [False, True])
def test_chunks_are_of_the_kind_of_the_sample_and_share_no_rows(kind: str, bags: bool) -> None:
    import pandas
    import polars
    import pyarrow

    numbers = np.arange(11)
    sample: Any = {
        "list": lambda: [f"text {one}" for one in numbers],
        "dicts": lambda: [{"a": int(one)} for one in numbers],
        "pandas": lambda: pandas.DataFrame({"a": numbers}),
        "polars": lambda: polars.DataFrame({"a": numbers}),
        "pyarrow": lambda: pyarrow.table({"a": numbers}),
        "columns": lambda: {"a": numbers},
        "matrix": lambda: numbers[:, None],
        "pair": lambda: (pandas.DataFrame({"a": numbers}), numbers),
    }[kind]()
    given: list[Any] = []

    def learner(part: Any, r: Any) -> int:
        given.append(part)
        return 0

    assert (voted(learner, 3, bags=True) if bags else agreed(learner, 3))(sample, 0) == 0
    assert {type(one) for one in given} == {type(sample)}
    names = [row_names(one[0] if kind == "pair" else one) for one in given]
    every = row_names(sample[0] if kind == "pair" else sample)
    assert [len(one) for one in names] == [11 if bags else 3] * 3
    assert {name for one in names for name in one} <= {*every}
    if not bags:
        assert len({name for one in names for name in one}) == 9
