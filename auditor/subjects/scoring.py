"""How good is one fit? A `Scorer` gives it a number on rows that it has not learnt from.

A learner that ignores its data is perfectly stable, so an audit of predictions says both: how often they change, and
how good they are. `Bench.score` (trials/trial.py) chooses the rows and calls the scorer where the run was; a trial
carries the scores of both its runs, `Trial.scores`, and `Scorer.of_pair(trial.scores)` is the pair's score in [0, 1].

What is claimed of a mean needs a range: scikit-learn's scorers have the one that their definition gives, R^2 and its
kin are clipped to [-1, 1], and a function declares its own, `fn.range = (0, 1)`. A score without a range has an
estimate and a standard error, and no limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from auditor.errors import SubjectError, UsageError, in_words, is_interrupt, suggestion
from auditor.host.boundary import in_host
from auditor.lookup import call_user_code, find_object, importable_name
from auditor.sources.datasets import Dataset
from auditor.sources.shifts import Mixture, Shifted, parts_of
from auditor.subjects.estimators import Fit, is_classifier, is_outlier_detector, names_its_labels, predicts_numbers
from auditor.subjects.fitting import as_taken_by
from auditor.subjects.subject import Subject
from auditor.subjects.views import predictions

FRESH = 1000  # rows on which a fit is scored, where the source draws fresh ones
OWN = "score"  # the name of an estimator's own score
_UNIT, _SIGNED = (0.0, 1.0), (-1.0, 1.0)
# The range of a scorer of scikit-learn's, by the first part of its name; what falls below it is clipped.
_RANGES = {
    **dict.fromkeys(("accuracy", "balanced", "top", "average", "f1", "precision", "recall", "jaccard", "roc"), _UNIT),
    **dict.fromkeys(("homogeneity", "completeness", "v", "normalized", "fowlkes", "rand"), _UNIT),
    **dict.fromkeys(("r2", "explained", "d2", "matthews", "adjusted"), _SIGNED),
}


class Scorer(msgspec.Struct, frozen=True):
    """A score and its range. `fn(output, X, y)` returns a number, the larger the better."""

    name: str  # accuracy, r2, module:fn; "score" for the estimator's own
    fn: Callable[[Any, Any, Any], Any]
    range: tuple[float, float] | None = None  # of its values; None where nobody knows
    clips: bool = False  # whether a value below the range counts as its lower end
    is_asked: bool = False  # whether a user wants it: then a fit without a score ends the audit
    spec: str | None = None  # how a user writes it; None for the default, and for a function that only Python can name
    own: Callable[..., Any] | None = None  # the function, if it is one of the user's

    def of(self, output: Any, x: Any, y: Any, subject: str) -> float | None:
        """Return the score of an output on these rows; None where it has none, and nobody asked for one.

        A score that is not defined there (NaN) counts as the worst. SubjectError where one was asked for and cannot be
        had.
        """
        if not len(y):
            return self.worst
        try:
            value = float(call_user_code(self.fn, output, as_taken_by(output, x), y))
        except BaseException as error:
            if is_interrupt(error):
                raise
            if not self.is_asked:
                return None
            what = (
                f"--score {self.name} raised {in_words(error)} on an output of {subject}: it is called fn(output, X, y)"
            )
            raise SubjectError(what).caused_by(error) from error
        return self._within(value)

    def _within(self, value: float) -> float | None:
        """Return a score within the scorer's range; the worst for NaN, None where it is no score at all."""
        if math.isnan(value):
            return self.worst
        if self.range is None:
            return value if math.isfinite(value) else None
        worst, best = self.range
        if self.clips and value < worst:
            return worst
        if worst <= value <= best:
            return value
        if not self.is_asked:
            return None
        raise SubjectError(
            f"--score {self.name} is {value:g}, and its range is from {worst:g} to {best:g}: correct the range that "
            "the function declares, fn.range = (least, most)"
        )

    @property
    def worst(self) -> float | None:
        """The least score; None without a range."""
        return self.range[0] if self.range else None

    def unit(self, value: float) -> float:
        """Return a score as a number in [0, 1]."""
        assert self.range is not None  # or nothing is claimed of it
        low, high = self.range
        return (value - low) / (high - low)

    def from_unit(self, value: float) -> float:
        """Return the score that a number in [0, 1] stands for: 0 is the worst, 1 the best."""
        assert self.range is not None
        low, high = self.range
        return low + (high - low) * value

    def of_pair(self, scores: Sequence[float | None]) -> float | None:
        """Return the mean of the scores of a pair's two runs, in [0, 1] where there is a range; None without one.

        `scores` is what a trial carries, `Trial.scores`. A run that gave no output has the worst score.
        """
        known = [one for one in scores if one is not None]
        if not known or len(known) < len(scores):
            return None
        mean = math.fsum(known) / len(known)
        return self.unit(mean) if self.range else mean


@in_host
def make_scorer(asked: Any, subject: Subject, source: Any, size: int, *, needed: bool = False) -> Scorer | None:
    """Return how fits of a subject are scored: as asked, else by the estimator's own score; None where they are not.

    `source` is loaded if it is a data set. `needed` is True where a verdict depends on the score. Samples of a data set
    that have all its rows leave none to score on: then there is no score.
    """
    base = source.base if isinstance(source, Shifted) else source
    if isinstance(base, Dataset) and base.way.left_out(size) < 1:
        if not needed:
            return None
        raise UsageError(
            f"--score-at-least needs rows that a sample does not have, and samples of {size:,} rows have all "
            f"{base.count:,} of {base.name}: use a smaller --size"
        )
    if asked is None:
        found = _default(subject, source)
        if needed and (found is None or found.range is None):
            raise UsageError(
                f"--score-at-least needs a score with a known range, and {subject.name} has none on this source: name "
                "one, e.g. --score accuracy, --score r2 or --score module:fn with fn.range = (0, 1)"
            )
        return found and msgspec.structs.replace(found, is_asked=needed)
    if why := _why_not(source):
        raise UsageError(f"--score {asked}: {why}")
    found = _of_function(asked) if callable(asked) or ":" in str(asked) else _named(str(asked))
    if needed and found.range is None:
        raise UsageError(
            f"--score-at-least needs a score with a known range, and {found.name} has none: use another, or declare "
            "that of a function, fn.range = (0, 1)"
        )
    return found


def _why_not(source: Any) -> str:
    """Say why fits to samples of a source cannot be scored; "" if they can, as far as is known before it draws."""
    base = source.base if isinstance(source, Shifted) else source
    if isinstance(base, Dataset) and not isinstance(base.rows, tuple):
        return f"{base.name} has no labels to compare predictions with: name their column, data.csv#label"
    if isinstance(source, Mixture) and any(isinstance(one, (Dataset, Shifted)) for one in parts_of(source)):
        return f"the rows of {source.name} that a sample does not have cannot be told: score on one source of it"
    return ""


def _default(subject: Subject, source: Any) -> Scorer | None:
    """Return the scorer of a learner that nobody chose one for."""
    if _why_not(source):
        return None
    if not isinstance(subject.fn, Fit):
        return _by_labels(source)
    estimator = subject.fn.estimator
    if not any(hasattr(estimator, name) for name in ("predict", "predict_one")):
        return None
    if names_its_labels(estimator) or is_outlier_detector(estimator):
        return None
    if isinstance(scoring := {**subject.settings}.get("scoring", getattr(estimator, "scoring", None)), str):
        return Scorer(OWN, own_score, *_range_of(scoring))  # of a search, whose own score that is
    if not hasattr(estimator, "score"):
        return _by_labels(source)
    if scoring is not None:
        return Scorer(OWN, own_score)
    if is_classifier(estimator):
        return Scorer(OWN, own_score, _UNIT)
    return Scorer(OWN, own_score, *((_SIGNED, True) if predicts_numbers(estimator) else ()))


def _by_labels(source: Any) -> Scorer:
    """Return the scorer of what has a predict and no score: accuracy, or R^2 where the labels are real numbers."""
    base = source.base if isinstance(source, Shifted) else source
    if not isinstance(base, Dataset):
        return Scorer("accuracy or r2", by_labels)  # it is seen in the labels that are drawn
    return (
        Scorer("r2", r_squared, _SIGNED, clips=True) if _are_real(base.rows[1]) else Scorer("accuracy", accuracy, _UNIT)
    )


def own_score(output: Any, x: Any, y: Any) -> Any:
    """Return the score that a fitted model gives itself."""
    return output.score(x, y)


def by_labels(output: Any, x: Any, y: Any) -> float:
    """Return R squared, and at least -1, where labels are real numbers; the accuracy where they are classes."""
    return max(-1.0, r_squared(output, x, y)) if _are_real(y) else accuracy(output, x, y)


def accuracy(output: Any, x: Any, y: Any) -> float:
    """Return the share of rows whose labels are predicted; of several labels a row, all of them."""
    labels = np.asarray(y)
    right = np.asarray(predictions(output, x)).reshape(labels.shape) == labels
    return float(np.mean(right.reshape(len(labels), -1).all(axis=1)))


def r_squared(output: Any, x: Any, y: Any) -> float:
    """Return 1 - sum (y - prediction)^2 / sum (y - mean)^2; NaN where all labels are the same. Of several labels a row,
    the mean over them."""
    labels = np.asarray(y, dtype=float).reshape(len(y), -1)
    missed = np.sum((labels - np.asarray(predictions(output, x), dtype=float).reshape(labels.shape)) ** 2, axis=0)
    spread = np.sum((labels - labels.mean(axis=0)) ** 2, axis=0)
    return float(np.mean(1 - missed / spread)) if spread.all() else math.nan


_OURS = {"accuracy": accuracy, "r2": r_squared}


def _are_real(y: Any) -> bool:
    """True if labels are floating-point numbers."""
    return np.asarray(y).dtype.kind == "f"


def _of_function(asked: Any) -> Scorer:
    """Return the scorer of a function fn(output, X, y); UsageError if it is none."""
    fn = find_object(asked) if isinstance(asked, str) else asked
    if not callable(fn):
        raise UsageError(f"--score {asked} is {type(fn).__name__}, not a function fn(output, X, y)")
    spec = asked if isinstance(asked, str) else importable_name(fn)
    name = spec or str(getattr(fn, "__qualname__", type(fn).__name__))
    return Scorer(name, fn, _declared(fn, name), is_asked=True, spec=spec, own=fn)


def _declared(fn: Any, name: str) -> tuple[float, float] | None:
    """Return the range that a function declares, if it does."""
    found = getattr(fn, "range", None)
    if found is None:
        return None
    try:
        low, high = map(float, found)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise UsageError(f"--score {name}: its range is {found!r}, and must be two numbers, (least, most)")
    return low, high


def _named(name: str) -> Scorer:
    """Return a scorer of scikit-learn's; the two that most people want are ours, for learners of any library."""
    if name in _OURS:
        return Scorer(name, _OURS[name], *_range_of(name), is_asked=True, spec=name)
    try:
        from sklearn.metrics import get_scorer, get_scorer_names
    except ImportError as error:
        raise UsageError(
            f"--score {name} is a scorer of scikit-learn's, which is not installed: pip install scikit-learn, or give "
            "a function, module:fn"
        ) from error
    known = get_scorer_names()
    if name not in known:
        raise UsageError(
            f"--score {name} is none of scikit-learn's scorers{suggestion(name, known)}: there are "
            f"{', '.join(known)}; or give a function fn(output, X, y), module:fn"
        )
    return Scorer(name, get_scorer(name), *_range_of(name), is_asked=True, spec=name)


def _range_of(name: str) -> tuple[tuple[float, float] | None, bool]:
    """Return the range of a scorer of scikit-learn's, and whether lower values are clipped to it."""
    found = _RANGES.get(name.partition("_")[0])
    return found, found == _SIGNED
