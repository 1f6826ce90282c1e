"""Each broken twin is explained by its own reason.

Chance: a wrong cause is named with probability at most 5 % in each; the faults are so large that the right one is not
missed.
"""

from __future__ import annotations

import pytest

import auditor
from auditor.questions.explain.answer import answer_of

pytestmark = pytest.mark.usefixtures("no_other_process")
REASONS = {
    "rstat_unshared_offset": "r-unused",
    "rstat_no_offset": "r-unused",
    "heavy_hitters_fixed_threshold": "r-unused",
    "heavy_hitters_in_order_of_appearance": "output-order",
    "float_sum_in_sample_order": "row-order",
    "one_generator_in_turn": "desync",
    "r_boost_desynchronised": "desync",
}
SLOW = ("r_boost_desynchronised",)
SMALL = {"rstat_unshared_offset", "rstat_no_offset", "one_generator_in_turn"}  # whose fault no size mends


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in SLOW else name for name in REASONS]
)
def test_every_twin_is_explained_by_its_own_reason(name: str) -> None:
    smaller = {"size": 2001} if name in SMALL else {}
    record = auditor.ask("explain", f"algorithms.twins.paper:{name}", pairs=40, **smaller)
    causes = answer_of(record).causes
    print(record.reason)
    kinds = [cause.kind for cause in causes]
    assert kinds[0] == REASONS[name]
    if REASONS[name] == "desync":
        assert (causes[0].where or "").startswith("algorithms/twins/paper.py:")
