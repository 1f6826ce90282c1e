"""What of an output is compared? Raw floats never agree; a decision can. A view maps an output to what is compared.

output        all of it
round(3)      every number in the output, rounded to three decimals
sign          -1, 0 or 1 for each number
argmax        the place of the largest number
top(5)        the places of the five largest numbers, in order of place
ranking       all places, largest number first; equal numbers in order of place
support       the chosen features of a selector, of coefficients or of a mask
nonzero       the places of numbers other than 0
partition     labels up to their names: 0 for the first that occurs, 1 for the next; -1, for noise, stays -1
distinct      the number of distinct values
attr(name)    one attribute of the output
predict       the predictions of the output on a fixed probe set
predict_proba the probabilities of classes that it predicts there
transform     what the output makes of the probe set
clusters      the labels of a clusterer without predict, compared on the rows that both samples have
fitted        the attributes that scikit-learn's naming marks as learnt
module:fn     fn(output), or fn(output, probe)

Views chain, from left to right: "attr(coef_)|nonzero", "predict|round(1)".
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from auditor.errors import NotComparable, UsageError, suggestion
from auditor.escape import without_address
from auditor.host.boundary import in_host
from auditor.literals import read_literal
from auditor.lookup import find_object, importable_name
from auditor.subjects import view_functions
from auditor.subjects.fitting import as_taken_by, rows_as_dicts
from auditor.subjects.view_functions import NOISE, clusters, partition, rounded

_WHOLE, _ANY = object(), object()  # the kinds of arguments: a whole number, any literal


class _Named(msgspec.Struct, frozen=True):
    """A view with a name. `make` returns the view's function, given its argument or None."""

    make: Callable[[Any], Callable[[Any], Any]]
    takes: object = None
    example: str = ""
    keeps_rows: bool = False  # its result for an array has a row for each row
    keeps_size: bool = True  # the numbers in its result are amounts, so two of them can be close


def _plain(see: Callable[[Any], Any], **about: bool) -> _Named:
    """Return a named view without an argument."""
    return _Named(lambda _: see, **about)  # type: ignore[arg-type]


_VIEWS: dict[str, _Named] = {
    "output": _plain(lambda output: output, keeps_rows=True),
    "round": _Named(lambda n: lambda output: rounded(output, n), _WHOLE, "3", keeps_rows=True),
    "sign": _plain(view_functions.sign, keeps_rows=True, keeps_size=False),
    "argmax": _plain(view_functions.argmax, keeps_size=False),
    "top": _Named(lambda n: lambda output: view_functions.top(output, n), _WHOLE, "5", keeps_size=False),
    "ranking": _plain(view_functions.ranking, keeps_size=False),
    "support": _plain(view_functions.support, keeps_size=False),
    "nonzero": _plain(view_functions.nonzero, keeps_size=False),
    "partition": _Named(lambda noise: lambda labels: partition(labels, noise), _ANY, keeps_rows=True, keeps_size=False),
    "distinct": _plain(view_functions.distinct),
    "attr": _Named(lambda name: lambda output: _attr(output, name), _ANY, "support_"),
    "fitted": _plain(lambda output: fitted_attributes(output)),
    "predict": _plain(lambda output: predictions(output, None)),
    "predict_proba": _plain(lambda output: _probabilities(output, None)),
    "transform": _plain(lambda output: _transform(output, None)),
    "clusters": _plain(clusters, keeps_size=False),
}
NAMES = tuple(_VIEWS)
# What a fit notes of the data that it was given: no more than their shape and names, and how they are compared.
_OF_INPUT = frozenset({"n_features_in_", "feature_names_in_", "n_samples_fit_"})
_OF_INPUT |= {"effective_metric_", "effective_metric_params_"}
_LEAST = {"top": 1, "round": 0}


class ViewLink(msgspec.Struct, frozen=True):
    """One view of a chain. `sees` takes (output, probe); `fn` is set if it is a function of the user's."""

    name: str
    spec: str | None
    sees: Callable[[Any, Any], Any]
    kind: str  # its name without the argument; empty for a function
    needs_probe: bool = False
    fn: Callable[..., Any] | None = None

    @property
    def keeps_rows(self) -> bool:
        """True if what it makes of an array has a row for each row."""
        return self.needs_probe or not self.kind or _VIEWS[self.kind].keeps_rows


class View(msgspec.Struct, frozen=True):
    """A chain of views. `spec` is how a user writes it, or None for a function that only Python can name."""

    name: str
    spec: str | None
    see: Callable[[Any], Any]
    chain: Sequence[ViewLink] = ()
    needs_probe: bool = False
    rows: int | None = None  # of the probe, if the result may have a row for each of its points
    numbers: tuple[int, ...] | None = None  # of these rows in the data set that they are from
    classes: tuple[Any, ...] | None = None  # whose probabilities are compared: a sample may lack one

    @property
    def may_have_rows(self) -> bool:
        """True if the result may have a row for each probe point: all links after the probe keep rows."""
        looks = [i for i, link in enumerate(self.chain) if link.needs_probe]
        return bool(looks) and all(link.keeps_rows for link in self.chain[looks[-1] :])

    @property
    def is_partition(self) -> bool:
        """True if the result consists of labels whose names do not count."""
        return bool(self.chain) and self.chain[-1].kind in ("partition", "clusters")

    @property
    def is_of_shares(self) -> bool:
        """True if the result has the probabilities of classes, a row for each probe point."""
        return bool(self.chain) and self.chain[-1].kind == "predict_proba"

    @property
    def is_of_own_rows(self) -> bool:
        """True if the result says something of the rows of a sample, and two results are compared on common rows."""
        return bool(self.chain) and self.chain[-1].kind == "clusters"

    @property
    def is_of_labels(self) -> bool:
        """True if the first link takes the output for labels."""
        return bool(self.chain) and self.chain[0].kind == "partition"

    @property
    def is_of_amounts(self) -> bool:
        """True if two numbers in the result can be close to each other; places and names cannot."""
        return all(not link.kind or _VIEWS[link.kind].keeps_size for link in self.chain)

    @property
    def functions(self) -> list[Callable[..., Any]]:
        """The links that are functions of the user's own."""
        return [link.fn for link in self.chain if link.fn]

    def on_probe(self, probe: Any, numbers: tuple[int, ...] | None = None, classes: Any = None) -> View:
        """Return the same view with this probe set, whose rows have these numbers in a data set, and these classes.

        The probe is copied, once here and once for each use of it.
        """
        own = copy.deepcopy(probe)
        rows = _rows(own) if self.may_have_rows else None
        return replace(
            self,
            see=lambda output: _through(self.chain, output, own, classes),
            rows=rows,
            numbers=numbers,
            classes=classes,
        )


def _rows(probe: Any) -> int | None:
    """Return how many rows a probe set has; None if it does not tell."""
    shape = getattr(probe, "shape", None)  # a sparse matrix has no length
    return int(shape[0]) if shape else len(probe) if hasattr(probe, "__len__") else None


def _through(chain: Sequence[ViewLink], output: Any, probe: Any = None, classes: Any = None) -> Any:
    """Return what a chain of views makes of an output, from left to right."""
    for link in chain:
        seen = link.sees(output, copy.deepcopy(probe) if link.needs_probe else None)
        if link.kind == "predict_proba" and classes is not None:
            seen = _by_class(seen, getattr(output, "classes_", None), classes)
        output = seen
    return output


OUTPUT = View("output", "output", lambda output: output)


@in_host
def make_view(spec: object) -> View:
    """Return the view that a user wrote, or that of a function."""
    if callable(spec):
        name = without_address(str(getattr(spec, "__qualname__", spec)))
        return _chained([_of_function(spec, importable_name(spec), name)])
    words = [word.strip() for word in str(spec).split("|")]
    if not all(words):
        raise UsageError(
            f"view {str(spec)!r} has an empty part: write views with | between them, e.g. predict|round(1)"
        )
    chain = [_link(word) for word in words]
    return OUTPUT if [link.kind for link in chain] == ["output"] else _chained(chain)


def _chained(chain: Sequence[ViewLink]) -> View:
    """Return the view that a chain of links makes."""
    specs = [link.spec for link in chain]
    spec = None if None in specs else "|".join(map(str, specs))
    first = chain[0].fn if len(chain) == 1 else None
    needs_probe = any(link.needs_probe for link in chain)
    see = first if first and not needs_probe else lambda output: _through(chain, output)
    return View("|".join(link.name for link in chain), spec, see, tuple(chain), needs_probe)


def _link(text: str) -> ViewLink:
    """Return one link of a chain, as a user writes it: round(3), predict, or module:fn."""
    if ":" in text:
        fn = find_object(text)
        if not callable(fn):
            raise UsageError(f"view {text} is {type(fn).__name__}, not a function of an output")
        return _of_function(fn, text, text)
    kind, argument = _parse(text)
    if kind in _ON_PROBE:
        return ViewLink(text, text, _ON_PROBE[kind], kind, needs_probe=True)
    see = _VIEWS[kind].make(argument)
    return ViewLink(text, text, lambda output, _: see(output), kind)


def _of_function(fn: Callable[..., Any], spec: str | None, name: str) -> ViewLink:
    """Return the link of a user's own function, which may take the probe set too."""
    with_probe = _with_probe(fn)
    sees = with_probe or (lambda output, _: fn(output))
    return ViewLink(spec or name, spec, sees, "", needs_probe=with_probe is not None, fn=fn)


def _with_probe(fn: Callable[..., Any]) -> Callable[[Any, Any], Any] | None:
    """Return how to call a function with the probe; None if it takes none.

    It takes one if it has a parameter `probe`, or a second parameter without a default.
    """
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # some builtins tell nobody
        return None
    if any(p.name == "probe" and p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters[1:]):
        return lambda output, probe: fn(output, probe=probe)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return fn if len(positional) > 1 and positional[1].default is inspect.Parameter.empty else None


def _parse(text: str) -> tuple[str, Any]:
    """Parse `name`, `name(literal)` or `attr(name)` into the view's name and its argument."""
    name, bracket, rest = text.partition("(")
    if name not in NAMES or (bracket and not rest.endswith(")")):
        raise UsageError(
            f"view {text!r} is none of {', '.join(NAMES)} or module:function{suggestion(name, NAMES)}; e.g. round(3)"
        )
    view, inner = _VIEWS[name], rest[:-1].strip()
    if view.example and not inner:
        raise UsageError(f"view {text!r} needs an argument: {name}({view.example})")
    if name == "attr" or (not inner and name != "partition"):
        return name, inner
    if not view.takes:
        raise UsageError(f"view {text!r}: {name} takes no argument; write {name}")
    return name, _argument(text, name, inner)


def _argument(text: str, name: str, inner: str) -> Any:
    """Return the argument of a view, such as 3 in round(3); UsageError where the view takes none like it."""
    if not inner:
        return NOISE
    try:
        value = read_literal(inner)
    except ValueError:
        value = inner
    least = _LEAST.get(name)
    if least is None and (value is None or isinstance(value, (int, str))):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or value < (least or 0):
        wanted = "a whole number" if least is not None else "a label that stays itself, or None"
        raise UsageError(f"view {text!r}: {value!r} must be {wanted}{f' of at least {least}' if least else ''}")
    return value


def _attr(output: Any, name: str) -> Any:
    """Return an attribute of the output; NotComparable if it has none of this name."""
    if not hasattr(output, name):
        close = suggestion(name, [key for key in dir(output) if not key.startswith("__")])
        raise NotComparable(f"the output, {type(output).__name__}, has no attribute {name!r}{close}")
    return getattr(output, name)


def predictions(output: Any, probe: Any) -> Any:
    """Return what an output predicts for these points, in the form that it takes them."""
    if hasattr(output, "predict_one") and not hasattr(output, "predict"):
        return [output.predict_one(row) for row in rows_as_dicts(probe)]
    if not hasattr(output, "predict"):
        raise NotComparable(f"the output, {type(output).__name__}, has no predict: choose another view")
    return output.predict(as_taken_by(output, probe))


def _probabilities(output: Any, probe: Any) -> Any:
    """Return the probabilities of classes that the output predicts for these points."""
    if not hasattr(output, "predict_proba"):
        raise NotComparable(f"the output, {type(output).__name__}, has no predict_proba: use --view predict")
    return output.predict_proba(as_taken_by(output, probe))


def _by_class(shares: Any, own: Any, classes: Sequence[Any]) -> Any:
    """Return a column of probabilities for each of these classes, and one for all others: a fit to a sample without a
    class has no column for it."""
    if own is None or not hasattr(shares, "shape") or len(shares.shape) != 2 or len(own) != shares.shape[1]:
        return shares
    array, places = np.asarray(shares, dtype=float), {label: i for i, label in enumerate(classes)}
    found = np.zeros((len(array), len(classes) + 1))
    for column, label in enumerate(np.asarray(own).tolist()):
        found[:, places.get(label, len(classes))] += array[:, column]
    return found if found[:, -1].any() else found[:, :-1]


def _transform(output: Any, probe: Any) -> Any:
    """Return what the output makes of these points."""
    if hasattr(output, "transform_one") and not hasattr(output, "transform"):
        return [output.transform_one(row) for row in rows_as_dicts(probe)]
    if not hasattr(output, "transform"):
        raise NotComparable(f"the output, {type(output).__name__}, has no transform: choose another view")
    return output.transform(as_taken_by(output, probe))


_ON_PROBE = {"predict": predictions, "predict_proba": _probabilities, "transform": _transform}


def fitted_attributes(fitted: Any) -> dict[str, Any]:
    """Return the attributes that scikit-learn's naming marks as learnt: public names that end in an underscore."""
    names = [name for name in sorted(vars(fitted)) if name.endswith("_") and not name.startswith("_")]
    support = {"get_support()": fitted.get_support()} if hasattr(fitted, "get_support") else {}
    if not names:  # of one that hands on what a part of it has learnt
        names = [name for name in ("params_", "coef_") if hasattr(fitted, name)]
    found = {name: getattr(fitted, name) for name in names} | support
    if not found.keys() - _OF_INPUT:
        other = "transform, which looks at" if hasattr(fitted, "transform") else "attr(name), or module:fn for"
        raise NotComparable(
            f"the output, {type(fitted).__name__}, keeps nothing that it has learnt in an attribute whose name ends in "
            f"an underscore, so that nothing of it would be compared: choose another view, such as {other} what it does"
        )
    return found
