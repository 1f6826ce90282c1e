"""Is new code worse than old? Both run on the same pairs, so that only what changed makes them differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from auditor.errors import BadValue, check_count
from auditor.flow.question import Question
from auditor.flow.verdict import MAX_PAIRS, Plan, check_confidence, error_probability
from auditor.questions.compare.answer import chart_of, compare_parts, title_of
from auditor.questions.compare.inquiry import Comparing, ComparingPlan
from auditor.questions.compare.versions import settle_versions, show_again
from auditor.questions.no_worse import check_margin
from auditor.request import SURE, Options, Request, option
from auditor.statistics.digits import exact
from auditor.statistics.paired import least_pairs_within

_PAIRS_TIMES_MARGIN = 100
_PAIRS, _FEWEST = 2000, 7  # pairs if there is no margin: at most, and at least, if each of them speaks one way


class CompareOptions(Options, frozen=True, kw_only=True):
    """The options of compare."""

    old: Annotated[
        Any,
        option(
            "The old version, if it is another target (default: OLD, or TARGET itself).",
            "TARGET",
            basic=False,
            python="The old version, if it is another target or function (default: the subject itself).",
        ),
    ] = None
    against: Annotated[
        str | None,
        option(
            "Take the old version from a git revision, e.g. HEAD~1 or main (default: the files as they are).", "REV"
        ),
    ] = None
    old_param: Annotated[
        dict[str, Any] | None,
        option(
            "Set a parameter of the old version alone (default: that of the new one). May be given several times.",
            "K=V",
            several=True,
            python="Parameters of the old version alone, by name (default: those of the new one).",
        ),
    ] = None
    old_python: Annotated[
        str | None,
        option("Run the old version with the Python of another environment (default: this one).", "PATH", basic=False),
    ] = None
    margin: Annotated[float, option("By how much rho may rise.", "D", SURE)] = 0.05
    pairs: Annotated[int | None, option("Maximum number of pairs (default: 100 / margin).", "MAX", SURE)] = None
    private: Annotated[
        str | None,
        option(
            "For A(sample, r, private): whether two runs share private: shared or unshared (default: unshared).",
            "HOW",
            basic=False,
        ),
    ] = None


class Compare(Question):
    """Is the new version of a learner less reproducible than the old one? Runs the code of both.

    compare OLD NEW compares two targets, or two records that --json wrote (which runs nothing). compare TARGET takes
    the old version from a git revision (--against), from other parameters (--old-param) or from another environment
    (--old-python). Both run on the same samples and r. It says whether rho fell or rose, whether by more than the
    margin, and how many answers changed.

    Example: python -m auditor compare learner.py:fit --against HEAD~1 --source norm --size 1000

    Exit codes: 0 rho rose by no more than the margin, 1 by more, 2 usage, 3 neither is shown, 4 one of them could not
    be run, 130 interrupted.
    """

    name: ClassVar[str] = "compare"
    Options: ClassVar[type[CompareOptions]] = CompareOptions
    instead: ClassVar[Mapping[str, str]] = {"rho": "margin", "fixed": "pairs", "inputs": "params"}
    cell_word: ClassVar[str] = "version, the old one first"

    def begin(self, request: Request) -> Comparing:
        """Settle both versions, and begin the comparison."""
        plan = _make_plan(request.options)
        return Comparing(settle_versions(request), plan, float(request.options.margin))

    title = staticmethod(title_of)
    parts = staticmethod(compare_parts)
    chart = staticmethod(chart_of)
    again = staticmethod(show_again)


def _make_plan(options: CompareOptions) -> Plan:
    """Return the plan of a comparison; BadValue if so few pairs could not show the margin."""
    check_confidence(options.confidence)
    check_margin(options.margin)
    margin = float(options.margin)
    budget = options.pairs
    if budget is None:
        budget = math.ceil(_PAIRS_TIMES_MARGIN / margin - 1e-9) if margin else _PAIRS
    check_count("pairs", budget, least=1, example=_PAIRS)
    least = least_pairs_within(error_probability(options.confidence), margin) if margin else _FEWEST
    if budget < least:
        raise BadValue(
            "pairs",
            budget,
            f"cannot show that rho rose by no more than {exact(margin)}: even if nothing changed it takes "
            f"{least:,} pairs; use --pairs {least} or more",
        )
    if budget > MAX_PAIRS:
        raise BadValue("pairs", budget, f"is more than {MAX_PAIRS:.0e} pairs, which nobody waits for: ask for fewer")
    return ComparingPlan(None, float(options.confidence), "anytime", budget, least=least)
