"""What holds of every wrapper: it is a learner, its seam is kept, its formula is a probability."""

from __future__ import annotations

import pickle
import random
from typing import Any

import cloudpickle
import numpy as np
import pytest

import auditor
from auditor import AuditorError, Randomness, Sample, repair, subject
from auditor.randomness import as_randomness, from_key, key_of, root_key
from auditor.repair.seam import pieces
from auditor.subjects.subject import load_subject
from auditor.trials.user_code import code_of
from auditor.values import same

WRAPPED = {
    "rounded": lambda learner: repair.rounded(learner, 0.3),
    "rounded_up": lambda learner: repair.rounded_up(learner, 0.3),
    "thresholded": lambda learner: repair.thresholded(learner, -0.2, 0.2),
    "agreed": lambda learner: repair.agreed(learner, 5),
    "sorted_rows": repair.sorted_rows,
    "single_thread": repair.single_thread,
}


def mean(sample, r, *, plus=0.0):
    return float(np.mean(sample)) + plus


@pytest.mark.parametrize("name", WRAPPED)
def test_a_run_is_its_core_finished(name: str) -> None:
    wrapper, rows, r = WRAPPED[name](mean), np.linspace(-1, 1.1, 40), from_key(root_key(3))
    core = wrapper.core(rows, r.child("core"), plus=0.1)
    assert same(wrapper(rows, r, plus=0.1), wrapper.finish(core, r.child("finish")))
    assert same(wrapper(rows, r), wrapper(rows, 3))
    assert repr(wrapper).startswith(f"{name}(mean")


def test_the_learner_gets_r_and_the_sample_as_it_asks_for_them() -> None:
    told: list[Any] = []

    def as_number(sample: Sample, r: int) -> float:
        told.append((sample, r))
        return sample.mean()

    def as_generator(sample: Any, r: random.Random) -> float:
        told.append((sample, r.random()))
        return 0.0

    key = root_key(9)
    repair.rounded(as_number, 0.1)(np.arange(4.0), from_key(key))
    repair.rounded(as_generator, 0.1)(np.arange(4.0), from_key(key))
    assert isinstance(told[0][0], Sample)
    assert told[0][1] == int(key.child("core").generate_state(1)[0])
    assert told[1][1] == random.Random(key.child("core").digest).random()


def test_what_a_learner_says_of_itself_is_still_known() -> None:
    @subject(source="norm", size=lambda half: 2 * half, claimed=0.1, sample="counts", theorem="Theorem 1")
    def learner(sample: Sample, r: Randomness, *, half: int = 20) -> float:
        return float(sample.mean())

    loaded = load_subject(repair.rounded(learner, 0.5), {"half": 30})
    assert (loaded.declares("size"), loaded.takes_sample, loaded.randomness) == (60, True, "Generator")
    assert (loaded.declared.source, loaded.declared.sample) == ("norm", "counts")
    assert (loaded.declared.claimed, loaded.declared.theorem) == (None, None)  # of the learner alone
    with pytest.raises(AuditorError, match=r"has no parameter 'hulf' \(did you mean half\?\)"):
        load_subject(repair.rounded(learner, 0.5), {"hulf": 30})


def test_private_randomness_is_handed_on() -> None:
    def learner(sample, r, private):
        return float(private.integers(10**6))

    loaded = load_subject(repair.rounded(learner, 0.5))
    assert loaded.private == "Generator"
    outputs = {loaded.run(np.zeros(3), root_key(1), private=root_key(i)) for i in range(5)}
    assert len(outputs) == 5


def test_the_code_that_counts_is_the_learners() -> None:
    assert [*code_of([repair.rounded(mean, 0.1)]).files] == [*code_of([mean]).files]
    assert code_of([repair.rounded(mean, 0.1)]).files


def test_wrappers_travel() -> None:
    wrapper = repair.rounded(mean, {"output": 0.3})
    for copy in (pickle.loads(cloudpickle.dumps(wrapper)), load_subject(wrapper).fn):
        assert copy(np.arange(5.0), 1) == wrapper(np.arange(5.0), 1)


def test_wrappers_are_audited_and_nest(no_second_process: None) -> None:
    nested = repair.sorted_rows(repair.rounded(mean, 50.0))
    record = auditor.audit(nested, "norm", size=30, rho=0.1, jobs=1)
    assert (record.verdict, record.mismatches) == ("pass", 0)


def test_r_must_have_children() -> None:
    with pytest.raises(AuditorError, match="r is Generator, and must have children: give an auditor"):
        as_randomness(np.random.default_rng(0))


def test_pieces_are_disjoint_and_of_equal_size() -> None:
    learner = load_subject(mean)
    found = pieces((np.arange(11), np.arange(11) * 2), 3, learner=learner)
    assert [x.tolist() for x, _ in found] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert all((y == 2 * x).all() for x, y in found)
    with pytest.raises(AuditorError, match="chunks=12 of 11 rows are empty: use fewer chunks, or a larger --size"):
        pieces(np.arange(11), 12, learner=learner)


def test_a_key_is_the_place_of_r_whatever_was_drawn() -> None:
    r = from_key(root_key(5))
    r.random(100)
    assert key_of(r).digest == root_key(5).digest


BUFFER = np.zeros(1)


def in_buffer(sample, r):
    BUFFER[0] = float(np.mean(sample) > 0.3)
    return BUFFER


@pytest.mark.parametrize("wrap", [repair.agreed, repair.voted])
def test_outputs_of_several_runs_are_those_of_each_although_all_are_one_buffer(wrap: Any) -> None:
    def copies(sample, r):
        return in_buffer(sample, r).copy()

    rows, r = np.random.default_rng(0).normal(size=90), from_key(root_key(0))
    mine, theirs = (wrap(learner, 9).core(rows, r) for learner in (in_buffer, copies))
    assert same(mine, theirs)
    assert {one.item() for one in mine} == {0.0, 1.0} if wrap is repair.voted else 0.5 < mine[0].share < 1
