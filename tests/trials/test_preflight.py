"""Subjects that are no function of (sample, r), samplers that are none of (rng, size): found before anything counts."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import rich.progress  # noqa: F401  # rich draws from `random` when it is first imported

import auditor
from auditor.cli.command_line import run

SUBJECTS = Path(__file__).parents[1] / "learners"
Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """`auditor check faulty:NAME` in this process: exit code, and all that was said, on one line."""
    monkeypatch.chdir(SUBJECTS)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.syspath_prepend(SUBJECTS)

    def check(name: str, *options: str, source: str | None = "rows", size: str = "20") -> tuple[int, str]:
        given = () if source is None else ("--source", f"faulty:{source}", "--size", size)
        try:
            code = run(["check", f"faulty:{name}", "--verbose", *given, *options])
        except SystemExit:  # its traceback holds reprs that end pytest itself
            code = None
        assert code is not None, "SystemExit came through: the process would end with the subject's own code"
        said = capsys.readouterr()
        return code, " ".join((said.err + said.out).split())

    return check


@pytest.fixture
def generators_restored() -> Iterator[None]:
    """For a subject that moves them in every run, which the audit allows when its output does not depend on them."""
    states = random.getstate(), np.random.get_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])


SAMPLERS = {
    "short": "source faulty:short returned 19 rows where 20 were asked for",
    "short_labels": "source faulty:short_labels returned 19 rows where 20 were asked for",
    "with_nan": "source faulty:with_nan returned NaN",
    "raising": r"source faulty:raising raised ValueError: no [red]data[/red] \x1b[31m",
    "scalar": "source faulty:scalar returned float: return an array of 20 rows or (X, y)",
    "scalar_array": "source faulty:scalar_array returned",
    "unkeyed": "source faulty:unkeyed is not a function of (rng, size): two draws with the same key differ",
    "shuffled_in_place": "source faulty:shuffled_in_place is not a function of (rng, size)",
    "exiting": "source faulty:exiting raised SystemExit",
}
NO_FUNCTION = "is not a function of (sample, r)"
SUBJECTS_OF_NO_USE: dict[str, tuple[int, str]] = {
    "uses_random": (4, f"faulty:uses_random {NO_FUNCTION}"),
    "uses_numpy_random": (4, f"faulty:uses_numpy_random {NO_FUNCTION}"),
    "set_order": (4, "faulty:set_order gives another output in a second process"),
    "cached_by_r": (4, "faulty:cached_by_r gives another output in a second process"),
    "exits": (4, "faulty:exits raised SystemExit in the first run of pair 0"),
    "not_comparable": (4, "output[1]: builtins.function cannot be compared"),
    # Oracles and declarations; these subjects declare a source.
    "bad_oracle": (4, "the accuracy check of faulty:bad_oracle raised RuntimeError"),
    "exiting_oracle": (4, "SystemExit"),
    "bad_size": (2, "faulty:bad_size"),
    "size_of_nothing": (2, "no parameter 'missing'"),
}
DECLARE_THEIR_SOURCE = ("bad_oracle", "exiting_oracle", "bad_size", "size_of_nothing")


@pytest.mark.parametrize("source", SAMPLERS)
def test_a_sampler_that_gives_no_sample_is_named(check: Check, source: str) -> None:
    code, said = check("fine", source=source)
    assert (code, SAMPLERS[source] in said, "auditor itself failed" in said) == (4, True, False), said


@pytest.mark.parametrize("name", SUBJECTS_OF_NO_USE)
def test_a_subject_that_cannot_be_audited_says_why(check: Check, name: str) -> None:
    expected, words = SUBJECTS_OF_NO_USE[name]
    code, said = check(name, source=None if name in DECLARE_THEIR_SOURCE else "rows")
    assert (code, words in said, "auditor itself failed" in said) == (expected, True, False), said
    if name.startswith("uses_"):
        generator = name.removeprefix("uses_").replace("_", ".")
        assert f"it draws from the global generator {generator}. Draw every random bit from r" in said
    if name == "bad_oracle":
        assert "RuntimeError: the oracle broke" in said
        assert r"\n" not in said  # lines, not one line of escapes


@pytest.mark.usefixtures("generators_restored")
@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("fine", "ragged", "PASS"),
        ("shapes", "labelled", "PASS"),
        ("sorts_in_place", "rows", "warning changes-sample: the subject changes its sample in place"),
        (
            "seeds_numpy_random",
            "rows",
            "warning global-state: the subject moves the state of numpy.random; its output did not depend on it",
        ),
        ("as_int", "rows", "r as int, seed 0"),
    ],
)
def test_what_does_not_matter_passes_and_is_said(check: Check, name: str, source: str, words: str) -> None:
    code, said = check(name, source=source)
    assert (code, words in said) == (0, True), said


@pytest.mark.parametrize("source", ["view", "whole_buffer"])
def test_changes_of_a_sample_do_not_reach_the_data_behind_it(check: Check, source: str) -> None:
    import faulty

    before = faulty._buffer.copy()
    code, said = check("adds_in_place", source=source)
    assert (code, "PASS" in said, "changes-sample" in said) == (0, True, True)
    assert np.array_equal(faulty._buffer, before)


def test_hidden_state_is_not_audited(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["check", "algorithms.controls:hidden_state", "--source", "faulty:rows"])
    said = " ".join(capsys.readouterr().out.split())
    assert code == 4
    assert f"hidden_state {NO_FUNCTION}: on the same sample with the same r it gave two outputs" in said
    assert "mismatches in" not in said


def test_a_second_process_that_fails_is_not_passed_over(check: Check) -> None:
    if os.environ.get("PYTHONHASHSEED") in ("1", "2"):
        pytest.skip("this process has the hash seed on which the subject raises")
    _, said = check("raises_by_hash")
    assert "RuntimeError" in said


# What r is.


@pytest.mark.parametrize(
    ("name", "options", "shown"),
    [
        ("as_any", (), "r as Generator"),
        ("as_int", (), "r as int"),
        ("as_random", (), "r as Random"),
        ("as_state", (), "r as RandomState"),
        ("half_hinted", (), "r as int"),
        ("as_any", ("--randomness", "RandomState"), "r as RandomState"),
        ("as_int", ("--randomness", "Random"), "r as Random"),
    ],
)
def test_r_is_what_the_subject_asks_for(check: Check, name: str, options: tuple[str, ...], shown: str) -> None:
    code, said = check(name, *options, "--replay", "0")
    kind = shown.removeprefix("r as ").replace("Generator", "Randomness")
    assert code == 0
    assert f"'{kind}'" in said  # every one of these subjects returns the type's name


def test_an_unknown_kind_of_r_lists_the_kinds(check: Check) -> None:
    code, said = check("fine", "--randomness", "Randm")
    assert code == 2
    assert "must be one of Generator, int, RandomState, Random, torch, jax, none (did you mean Random?)" in said


# From Python: parameters that no command line can spell.


@pytest.mark.parametrize("value", [np.arange(3), float("nan"), {1: object}])
def test_parameters_without_a_spelling_are_no_hidden_state(check: Check, value: object) -> None:
    check("fine", "--replay", "0")  # puts the subjects on the path
    record = auditor.audit("faulty:kind_of", "faulty:rows", size=5, params={"w": value})
    assert record.verdict == "pass", record.reason
    assert record.preflight is not None
    assert record.preflight.second_process == "same"  # they were sent as they are
