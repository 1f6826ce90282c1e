"""What does `sklearn:NAME` draw from? Data that scikit-learn ships, generates, or has fetched before.

An audit downloads nothing, since another person's audit must not depend on what a server answers that day. Data that
was fetched before is read from scikit-learn's own folder. Only the user of the machine chooses that folder, because
scikit-learn keeps pickles there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from auditor.errors import UsageError, in_words, suggestion
from auditor.sources.datasets import Dataset, from_arrays
from auditor.sources.frames import library_of

POPULATION = 10_000  # rows that a generator of scikit-learn's makes once; samples are drawn from them


def from_sklearn(spec: str, name: str, args: list[Any], keywords: dict[str, Any], resample: str) -> Dataset:
    """Return the data set of `sklearn:load_iris`, `sklearn:fetch_covtype` or `sklearn:make_moons(noise=0.1)`.

    It is made once, and samples are drawn from it: a generator of scikit-learn's draws its distribution anew with each
    random_state, so two calls would not be two samples of one source. With `as_frame=True` its rows are tables.
    """
    make = _function(spec, name)
    known = inspect.signature(make).parameters
    if "data_home" in keywords:
        raise UsageError(f"source {spec!r}: data_home is not for a source to say: set SCIKIT_LEARN_DATA instead")
    if name.startswith("make_"):
        keywords = {"n_samples": POPULATION, "random_state": 0, **keywords}
    elif "return_X_y" in known:
        keywords = {"return_X_y": True, **keywords}
    if "download_if_missing" in known:
        keywords = {**keywords, "download_if_missing": False}
    try:
        with _no_download():
            made = make(*args, **keywords)
    except (TypeError, ValueError) as error:
        raise UsageError(f"source {spec!r}: {error}") from error
    except (OSError, _WouldDownload) as error:
        raise _not_here(spec, name, error) from error
    except Exception as error:  # a cache that is damaged, or a library that is missing
        raise UsageError(f"source {spec!r}: {in_words(error)}") from error
    return from_arrays(_rows(spec, made), spec, spec, resample)


def _function(spec: str, name: str) -> Callable[..., Any]:
    """Return a function of sklearn.datasets by its name; UsageError if there is none."""
    try:
        import sklearn.datasets
    except ImportError as error:
        raise UsageError(
            "a sklearn: source needs scikit-learn: pip install 'reproducibility-auditor[sklearn]'"
        ) from error
    known = [key for key in dir(sklearn.datasets) if key.startswith(("load_", "make_", "fetch_"))]
    if name not in known:
        raise UsageError(f"source {spec!r}: sklearn.datasets has no {name!r}{suggestion(name, known)}")
    found: Callable[..., Any] = getattr(sklearn.datasets, name)
    return found


class _WouldDownload(BaseException):
    """Raised in place of a download.

    It is not an Exception, because scikit-learn takes those for a damaged cache, which it deletes, or tries again.
    """


class _Refusing:
    """Stands in for urllib's opener, and refuses every address."""

    def open(self, address: Any, *_: Any) -> NoReturn:
        """Refuse to download anything."""
        raise _WouldDownload(f"{getattr(address, 'full_url', address)} would have to be fetched")


@contextmanager
def _no_download() -> Iterator[None]:
    """Refuse downloads while the block runs: fetch_openml, for one, has no argument for that."""
    import urllib.request

    before = getattr(urllib.request, "_opener", None)
    urllib.request.install_opener(_Refusing())  # type: ignore[arg-type]
    try:
        yield
    finally:
        urllib.request.install_opener(before)  # None: the usual one


def _not_here(spec: str, name: str, error: BaseException) -> UsageError:
    """Return the error for a data set that cannot be loaded, with what to do if it was never downloaded."""
    if not name.startswith("fetch_"):
        return UsageError(f"source {spec!r}: {in_words(error)}")
    call = spec.removeprefix("sklearn:")
    call = call if call.endswith(")") else f"{call}()"
    return UsageError(
        f"source {spec!r}: its data are not on this machine ({error}), and an audit downloads nothing: have "
        f"scikit-learn fetch them once, in Python: from sklearn.datasets import {name}; {call}"
    )


def _rows(spec: str, made: Any) -> Any:
    """Return (X, y), or X alone, from whatever such a function returns."""
    if isinstance(made, dict) and "data" in made:
        made = (made["data"], made["target"]) if made.get("target") is not None else made["data"]
    if isinstance(made, (dict, str)):
        raise UsageError(f"source {spec!r}: it has no rows by the name of data")
    if isinstance(made, tuple):
        return tuple(_part(part) for part in made[:2])
    return _part(made)


def _part(part: Any) -> Any:
    """Return a part as a table or an array; texts become objects, as a text array is as wide as its longest."""
    words = isinstance(part, list) and any(isinstance(one, str) for one in part)
    return part if library_of(part) else np.array(part, dtype=object) if words else np.asarray(part)
