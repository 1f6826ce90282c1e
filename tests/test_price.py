"""The price of a claim: brackets around sizes that are known exactly, and what stands beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from auditor.errors import UsageError
from auditor.price import run_price
from auditor.randomness import arm_seed
from auditor.report.price_record import PriceRecord, to_json
from auditor.report.prices import rows_of, size_text
from auditor.subjects import Subject

# rho = min(1, 10 / size) exactly, and a share min(1, 4 / size) of the runs is inaccurate.
KNOWN = """
import auditor

def rare(output, *, source, r, params):
    return output[1]

@auditor.subject(source="norm", size=1000, theorem="Theorem X", claimed=0.1, delta=0.02, accuracy=rare,
                 plain=50, bounds={"limit": lambda size: 4 / size, "silent": lambda size: None})
def known(sample, r):
    n = len(sample)
    accurate = bool(r.random() >= 4 / n)
    return (float(sample[0]) if r.random() < 10 / n else 0.0, accurate)

@auditor.subject(source="norm", size=20, theorem="Theorem Y")
def bold(sample, r):
    return float(sample[0]) if r.random() < 10 / len(sample) else 0.0

def never(sample, r):
    return float(sample[0])

@auditor.subject(source="norm", size=8, theorem="Theorem Z")
def edge(sample, r):
    if len(sample) > 20:
        raise MemoryError("no more than 20 rows")
    return float(sample[0]) if r.random() < 0.09 else 0.0

def asks(sample, r, *, rho=0.5, width=1.0):
    return float(sample[0]) if r.random() < rho / len(sample) else 0.0
"""


class Quiet:
    def planned(self, subject: Subject, budget: int) -> None: ...
    def asked(self, question: str, size: int, pairs: int) -> None: ...
    def notice(self, words: str) -> None: ...


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "known.py").write_text(KNOWN)
    return tmp_path


def price(folder: Path, name: str, source: str | None = None, **options: Any) -> PriceRecord:
    return run_price(f"{folder}/known.py:{name}", source, options.pop("texts", {}), watch=Quiet(), **options)


def test_both_brackets_hold_the_sizes_that_are_known(folder: Path) -> None:
    """rho <= 0.1 from 100 rows on, inaccurate <= 0.02 from 200. False alarm 1e-6 by the confidence."""
    found = price(folder, "known", confidence=1 - 1e-6, pairs=20_000)
    rho, accuracy = found.asked
    assert (rho.question, rho.limit, accuracy.question, accuracy.limit) == ("reproducible", 0.1, "accurate", 0.02)
    assert rho.low is not None
    assert rho.high is not None
    assert rho.low < 100 <= rho.high
    assert rho.high / rho.low < 10
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.low < 200 <= accuracy.high
    assert (found.plain, found.promised, found.findings) == (50, 1000, [])
    assert 40 <= found.bounds["limit"] <= 41  # 4 / size <= 0.1
    assert "silent" not in found.bounds
    assert sum(probe.pairs for probe in found.probes) <= found.budget


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> PriceRecord:
    folder = tmp_path_factory.mktemp("known")
    (folder / "known.py").write_text(KNOWN)
    return price(folder, "known", pairs=12_000)


def test_rows_are_in_order_and_say_what_they_are(found: PriceRecord) -> None:
    named = [what for what, _, _ in rows_of(found)]
    assert named[0] == "limit: on the worst source none can do with less"
    assert named[1].startswith("plain")
    assert named[-1] == "Theorem X asks for"
    assert json.loads(to_json(found))["schema"] == "auditor.price/1"


def test_a_theorem_whose_size_is_too_small_is_said(folder: Path) -> None:
    found = price(folder, "bold")
    assert [finding.kind for finding in found.findings] == ["above-promise"]
    assert "Theorem Y promises it at 20" in found.findings[0].message


def test_what_no_size_mends_has_no_upper_end(folder: Path) -> None:
    found = price(folder, "never", "norm", pairs=600)
    (one,) = found.asked
    assert one.high is None
    assert one.low is not None
    assert one.low >= 1000


def test_a_size_that_does_not_run_is_no_measurement_above_one_that_does(folder: Path) -> None:
    found = price(folder, "edge", pairs=2000)
    (one,) = found.asked
    assert (one.low or 0) <= 1
    assert [finding.kind for finding in found.findings] == ["refused"]
    assert "no more than 20 rows" in found.findings[0].message


def test_sizes_have_randomness_of_their_own(found: PriceRecord) -> None:
    """Which size comes next depends on what the last one showed."""
    seeds = {probe.seed for probe in found.probes}
    assert len(seeds) == len(found.probes)
    assert seeds <= {arm_seed(found.seed, arm) for arm in range(100)}
    assert found.seed == 0


def test_a_parameter_rho_is_given_the_target_unless_its_user_says_otherwise(folder: Path) -> None:
    assert price(folder, "asks", "norm", rho=0.2, pairs=600).settings["rho"] == 0.2
    assert price(folder, "asks", "norm", rho=0.2, pairs=600, texts={"rho": "0.7"}).settings["rho"] == 0.7
    assert price(folder, "asks", "norm", pairs=600).settings["rho"] == 0.5


def test_a_subject_that_draws_what_its_theorem_asks_is_scaled() -> None:
    """rHeavyHitters takes 3e9 rows by its lemma and a few hundred in truth; rho is 2 x 1e9 smaller there."""
    found = run_price(
        "algorithms.heavy_hitters:r_heavy_hitters", None, {}, rho=0.3, pairs=2000, watch=Quiet(), confidence=0.999
    )
    assert found.promised is not None
    assert found.promised > 10**8
    rho = found.asked[0]
    assert rho.high is not None
    assert rho.high < 10**5
    assert all(probe.size >= 20 for probe in found.probes), "the candidates are never scaled away"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"rho": 1.5}, "rho=1.5 must be in"),
        ({"rho": 1e-9}, "rho=1e-09 would take more than"),
        ({"pairs": 0}, "pairs=0 must be an integer of at least"),
        ({"pairs": 500}, r"pairs=500 cannot show any size to do: use --pairs \d+ or more"),
        ({"confidence": 2.0}, "confidence"),
    ],
)
def test_what_cannot_be_asked(folder: Path, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        price(folder, "known", **options)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(7, 7, "7"), (None, 9, "1 to 9"), (99, 1200, "100 to 1,200"), (50, None, "above 50"), (None, None, "not found")],
)
def test_a_bracket_as_text(low: int | None, high: int | None, text: str) -> None:
    assert size_text(low, high) == text


@pytest.mark.parametrize("columns", [40, pytest.param(120, marks=pytest.mark.nightly)])
def test_the_command_fits_its_terminal(command: Any, folder: Path, columns: int) -> None:
    words = ("price", "known.py:known", "--pairs", "12000", "--json", "price.json")
    code, out, err = command(*words, cwd=folder, columns=columns)
    assert code == 0, err
    assert max(map(len, out.splitlines())) <= columns
    assert "PRICE  known.py:known" in out
    assert json.loads((folder / "price.json").read_text())["target"] == 0.1


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (
            ["known.py:never", "--source", "norm", "--pairs", "600"],
            3,
            "No size up to 64,000 was shown to be reproducible",
        ),
        (["known.py:bold"], 1, "promises it at 20"),
        (["known.py:never"], 2, "declares no source"),
        (["known.py:nobody"], 2, "nobody"),
    ],
)
def test_exit_codes(command: Any, folder: Path, arguments: list[str], code: int, complaint: str) -> None:
    found, out, err = command("price", *arguments, cwd=folder)
    assert found == code
    assert complaint in re.sub(r"\s+", " ", out + err)
    assert "Traceback" not in err
