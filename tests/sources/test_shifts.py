"""Sources made of others: what they draw, against what their definition says; and what is refused, in a sentence.

Tests that involve chance compare counts of 20,000 rows with their exact probability within 6 standard deviations: a
false alarm has probability below 1e-8 each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.requests import audit

from auditor.errors import SourceError, UsageError
from auditor.sources.shifts import parts_of, split_arguments
from auditor.sources.source import is_dataset, load_source

ROWS = 20_000


def near(count: float, p: float, rows: int = ROWS) -> bool:
    off = abs(count - rows * p) / np.sqrt(rows * p * (1 - p))
    print(f"{count} of {rows}, expected {rows * p:g}: {off:.2f} standard deviations")
    return bool(off < 6)


def draw(spec: str, size: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    source = load_source(spec)
    assert not is_dataset(spec)
    assert source.spec == source.name == spec
    x, y = source.draw(np.random.default_rng(1), size)
    assert len(x) == len(y) == size
    return x, y


@pytest.fixture
def plain(tmp_path: Path) -> str:
    file = tmp_path / "d.csv"
    file.write_text("x,y\n0,0\n1,0\n2,1\n3,1\n")
    return f"{file}#y"


@pytest.fixture
def uneven(tmp_path: Path) -> str:
    """Five rows of label 0, two of label 1, one of label 2; x is the number of the row."""
    file = tmp_path / "uneven.csv"
    file.write_text("x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate([0, 1, 0, 0, 1, 0, 2, 0])))
    return f"{file}#y"


@pytest.mark.parametrize(
    ("spec", "weights"),
    [
        ("class_weights(DATA, {0: 1, 1: 1, 2: 2})", [1 / 20, 1 / 8, 1 / 20, 1 / 20, 1 / 8, 1 / 20, 1 / 2, 1 / 20]),
        ("class_weights(DATA, {0: 0.5, 2: 1.5})", [1 / 20, 0, 1 / 20, 1 / 20, 0, 1 / 20, 3 / 4, 1 / 20]),
        ("class_weights(DATA, {1: 7})", [0, 1 / 2, 0, 0, 1 / 2, 0, 0, 0]),
        ("drop_group(DATA, 0, 0.8)", [1 / 20, 1 / 4, 1 / 20, 1 / 20, 1 / 4, 1 / 20, 1 / 4, 1 / 20]),
        ("drop_group(DATA, 2, 1.0)", [1 / 7, 1 / 7, 1 / 7, 1 / 7, 1 / 7, 1 / 7, 0, 1 / 7]),
        ("drop_group(DATA, 2, 0)", [1 / 8] * 8),
    ],
)
def test_rows_within_a_label_share_its_weight(uneven: str, spec: str, weights: list[float]) -> None:
    """Exact, and drawn so: however many rows a label has."""
    source: Any = load_source(spec.replace("DATA", uneven))
    assert source.weights == pytest.approx(weights, abs=1e-15)
    x, y = source.draw(np.random.default_rng(5), ROWS)
    labels = np.array([0, 1, 0, 0, 1, 0, 2, 0])
    assert (y == labels[x[:, 0].astype(int)]).all()
    for row, weight in enumerate(weights):
        count = (x[:, 0] == row).sum()
        assert near(count, weight) if weight else count == 0


def test_rows_of_a_mixture_keep_their_labels(uneven: str, tmp_path: Path) -> None:
    """x and y of a row are of one source; the second's have x above 100 and label x - 100."""
    (tmp_path / "other.csv").write_text("x,y\n" + "".join(f"{100 + i},{i}\n" for i in range(5)))
    for share in (0.0, 0.25, 1.0):
        x, y = draw(f"mixture({uneven}, {tmp_path / 'other.csv'}#y, {share})")
        labels, second = np.array([0, 1, 0, 0, 1, 0, 2, 0]), x[:, 0] >= 100
        assert near(second.sum(), share) if 0 < share < 1 else second.mean() == share
        assert (y[second] == x[second, 0] - 100).all()
        assert (y[~second] == labels[x[~second, 0].astype(int)]).all()
        assert set(x[~second, 0].tolist()) == ({*range(8)} if share < 1 else set())


def test_sources_whose_rows_do_not_fit_do_not_mix(uneven: str, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("x,z,y\n1,2,0\n3,4,1\n")
    with pytest.raises(SourceError, match=r"rows of shape \(1,\) and \(2,\) do not mix"):
        draw(f"mixture({uneven}, {tmp_path / 'wide.csv'}#y, 0.5)")
    for one, other in ((uneven, "norm(0, 1)"), ("norm(0, 1)", uneven)):
        with pytest.raises(SourceError, match="one of the two has labels, and the other has none"):
            draw(f"mixture({one}, {other}, 0.5)")


def test_a_mixture_of_mixtures_is_made_of_all_its_parts() -> None:
    source: Any = load_source("mixture(mixture(norm(0, 1), norm(1, 1), 0.5), norm(2, 1), 0.25)")
    assert [one.name for one in parts_of(source)] == ["norm(0, 1)", "norm(1, 1)", "norm(2, 1)"]
    assert source.expect() == pytest.approx(0.75 * 0.5 + 0.25 * 2)


@pytest.mark.parametrize(("share", "moved"), [(0.0, 0.0), (0.3, 0.3), (1.0, 1.0)])
def test_every_other_label_is_as_likely(uneven: str, share: float, moved: float) -> None:
    x, y = draw(f"flip_labels({uneven}, {share})")
    was = np.array([0, 1, 0, 0, 1, 0, 2, 0])[x[:, 0].astype(int)]
    assert near((y != was).sum(), moved) if 0 < moved < 1 else (y != was).mean() == moved
    for label in (0, 1, 2):
        changed = y[(was == label) & (y != was)]
        for other in {0, 1, 2} - {label}:
            assert not len(changed) or near((changed == other).sum(), 0.5, len(changed))


def test_an_outlier_has_a_label_of_the_data_each_as_likely(uneven: str) -> None:
    x, y = draw(f"contaminate({uneven}, 1)")
    assert (x.min(), x.max()) == pytest.approx((-7, 14), abs=0.01), "three times the range of 0 to 7"
    for label in (0, 1, 2):
        assert near((y == label).sum(), 1 / 3)
    x, _ = draw(f"contaminate({uneven}, 0)")
    assert set(x[:, 0].tolist()) == {*range(8)}


def test_a_copy_has_the_label_of_the_row_before_it(uneven: str) -> None:
    x, y = draw(f"duplicate({uneven}, 0.5)")
    assert (y == np.array([0, 1, 0, 0, 1, 0, 2, 0])[x[:, 0].astype(int)]).all()
    assert near((x[1:, 0] == x[:-1, 0]).sum(), 0.5 + 0.5 / 8, ROWS - 1)


def test_a_mixture_has_the_exact_law_and_mean_of_one() -> None:
    source = load_source("mixture(bernoulli(0.5), pmf({1: 0.5, 2: 0.5}), 0.25)")
    law = source.law()
    found = dict(zip(law.values.tolist(), law.weights.tolist(), strict=True))
    assert found == pytest.approx({0: 0.375, 1: 0.5, 2: 0.125})
    assert source.expect() == pytest.approx(0.75 * 0.5 + 0.25 * 1.5)
    rows = source.draw(np.random.default_rng(2), ROWS)
    assert near((rows == 2).sum(), 0.125)
    assert [one.name for one in parts_of(source)] == ["bernoulli(0.5)", "pmf({1: 0.5, 2: 0.5})"]


def test_a_mixture_of_labelled_points_has_its_law() -> None:
    one, other = "points([[1], [2]], labels=[1, -1], weights=[0.5, 0.5])", "points([[2], [2]], labels=[1, -1])"
    law = load_source(f"mixture({one}, {other}, 0.5)").law()
    (x, y), weights = law.values, law.weights
    found = {(int(row[0]), int(label)): p for row, label, p in zip(x, y, weights, strict=True)}
    assert found == pytest.approx({(1, 1): 0.25, (2, -1): 0.5, (2, 1): 0.25})
    with pytest.raises(SourceError, match="has labels, and the other has none"):
        load_source(f"mixture({one}, bernoulli(0.5), 0.5)").law()


def test_mixtures_with_another_share_see_the_same_rows() -> None:
    """Common random numbers: only rows between the two shares change."""
    one, other = (load_source(f"mixture(norm(0, 1), norm(9, 1), {share})") for share in (0.1, 0.11))
    a, b = (source.draw(np.random.default_rng(3), ROWS) for source in (one, other))
    assert near((a != b).sum(), 0.01)


def test_a_file_may_have_a_comma_in_its_name_only_in_quotes_elsewhere() -> None:
    assert split_arguments("a.csv#y, {0: 1, 1: 2}, f(x, 'b, c')") == ["a.csv#y", "{0: 1, 1: 2}", "f(x, 'b, c')"]


def sampler(rng: np.random.Generator, size: int, p: float = 0.5) -> np.ndarray:
    return rng.random(size) < p


def test_a_function_takes_keywords() -> None:
    source = load_source(f"{__name__}:sampler(p=0.25)")
    assert near(source.draw(np.random.default_rng(4), ROWS).sum(), 0.25)
    with pytest.raises(UsageError, match="keywords that are literals"):
        load_source(f"{__name__}:sampler(0.25)")


def split(sample: tuple[np.ndarray, np.ndarray], r: np.random.Generator) -> bool:
    return bool(sample[1].mean() > 0.5)


@pytest.mark.parametrize("spec", ["flip_labels(DATA, 0.1)", "mixture(flip_labels(DATA, 0.1), DATA, 0.5)"])
def test_a_kept_audit_does_not_go_on_with_other_rows(plain: str, spec: str, tmp_path: Path) -> None:
    spec = spec.replace("DATA", plain)
    options: dict[str, Any] = {"size": 5, "pairs": 100, "ledger": str(tmp_path / "kept.db")}
    audit(split, spec, **options)
    audit(split, spec, resume=True, **options)
    file = Path(plain.removesuffix("#y"))
    file.write_text(file.read_text().replace("3,1", "9,1"))
    with pytest.raises(UsageError, match=r"the source's data \(it has changed\)"):
        audit(split, spec, resume=True, **options)


def test_a_check_of_a_shifted_data_set_has_its_size_and_asks_for_labels(plain: str) -> None:
    record = audit(split, f"flip_labels({plain}, 0.5)", pairs=100)
    assert record.size == 4
    assert record.verdict == "fail"
    with pytest.raises(UsageError, match="learns from labels"):
        audit("sklearn.tree:DecisionTreeClassifier", f"duplicate({plain.removesuffix('#y')}, 0.5)")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("flip_labels(DATA)", "must be flip_labels"),
        ("flip_labels(DATA, 1.5)", "in \\[0, 1\\]"),
        ("flip_labels(DATA, nan)", "no literal"),
        ("flip_labels(DATA, open('x'))", "no literal"),
        ("contaminate(norm(0, 1), 0.1)", "no data set"),
        ("drop_group(DATA, 7, 0.5)", "label 7"),
        ("drop_group(DATA, 1, True)", "in \\[0, 1\\]"),
        ("class_weights(DATA, {0: -1})", "at least 0"),
        ("class_weights(DATA, {0: 0})", "no row is left"),
        ("class_weights(DATA, 3)", "label: weight"),
        ("mixture(norm(0, 1), 0.5)", "must be mixture"),
        ("mixture(norm(0, 1), nothing_such(1), 0.5)", "no distribution"),
        ("contaminate(missing.csv, 0.1)", "missing.csv"),
    ],
)
def test_what_is_no_such_source_is_refused_with_what_it_must_be(plain: str, spec: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load_source(spec.replace("DATA", plain))
