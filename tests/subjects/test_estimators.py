from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import bench_of, timeless
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import auditor
from auditor.errors import UsageError
from auditor.randomness import from_key, root_key
from auditor.subjects.estimators import Fit
from auditor.subjects.subject import load_subject
from auditor.trials.preflight import conclude, look

pytestmark = pytest.mark.usefixtures("no_second_process")
# Fifteen families, with no code of ours for any of them.
FAMILIES = [
    "sklearn.linear_model:LogisticRegression",
    "sklearn.linear_model:Lasso",
    "sklearn.linear_model:SGDClassifier",
    "sklearn.tree:DecisionTreeClassifier",
    "sklearn.ensemble:RandomForestClassifier",
    "sklearn.ensemble:GradientBoostingRegressor",
    "sklearn.neighbors:KNeighborsClassifier",
    "sklearn.svm:SVC",
    "sklearn.naive_bayes:GaussianNB",
    "sklearn.cluster:KMeans",
    "sklearn.cluster:DBSCAN",
    "sklearn.mixture:GaussianMixture",
    "sklearn.decomposition:PCA",
    "sklearn.preprocessing:StandardScaler",
    "sklearn.feature_selection:SelectKBest",
    "sklearn.discriminant_analysis:LinearDiscriminantAnalysis",
]

UNNAMED = {"sklearn.cluster:KMeans", "sklearn.mixture:GaussianMixture"}  # whose labels' names mean nothing
SLOW = {"sklearn.ensemble:RandomForestClassifier", "sklearn.ensemble:GradientBoostingRegressor"}

scaled = make_pipeline(StandardScaler(), LogisticRegression(solver="saga", max_iter=20, tol=0.1))


class FromGlobal(DecisionTreeClassifier):
    """A classifier that scikit-learn finds no fault with, and that takes something from the global generator."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
        self.luck_ = np.random.random()
        return super().fit(X, y, sample_weight, check_input)


class Parrot:
    """No scikit-learn at all: just fit and predict."""

    random_state = None

    def fit(self, x: Any, y: Any = None) -> Parrot:
        self.word_ = self.random_state
        return self

    def predict(self, x: Any) -> Any:
        return np.full(len(x), self.word_)


@pytest.mark.filterwarnings("ignore")  # what scikit-learn thinks of the fit is not the question here
@pytest.mark.parametrize(
    "target", [pytest.param(name, marks=[pytest.mark.nightly] * (name in SLOW)) for name in FAMILIES]
)
def test_families_of_estimators_audit_with_no_extra_code(target: str) -> None:
    fit = load_subject(target)
    predicts = hasattr(fit.fn.estimator, "predict")  # type: ignore[attr-defined]
    predictions = "predict|partition" if target in UNNAMED else "predict"
    assert fit.default_view == (predictions if predicts else "fitted")
    source = (np.array(IRIS[0]), np.array(IRIS[1]))
    record = auditor.audit(target, source, size=80, rho=0.3, probe=60 if predicts else None)
    assert record.verdict in ("pass", "fail"), record.reason
    assert record.view == fit.default_view
    assert record.subject == target


def _iris() -> tuple[Any, Any]:
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


IRIS = _iris()


def test_r_reaches_every_random_state_inside_as_its_own_int() -> None:
    fitted = Fit(scaled)(IRIS, from_key(root_key(1)))
    again = Fit(scaled)(IRIS, from_key(root_key(1)))
    other = Fit(scaled)(IRIS, from_key(root_key(2)))
    state = fitted.get_params()["logisticregression__random_state"]
    assert isinstance(state, int)
    assert state == again.get_params()["logisticregression__random_state"]
    assert state != other.get_params()["logisticregression__random_state"]
    assert scaled.get_params()["logisticregression__random_state"] is None  # the user's own stays as it was
    assert isinstance(Fit(Parrot())(IRIS, from_key(root_key(1))).word_, int)


@pytest.mark.filterwarnings("ignore")
def test_an_instance_a_pipeline_and_a_class_with_parameters() -> None:
    assert auditor.audit(f"{__name__}:scaled", IRIS, size=100, probe=40, rho=0.3).verdict in ("pass", "fail")
    record = auditor.audit(KMeans(n_clusters=3, n_init=1), IRIS, size=100, probe=40, rho=0.3)
    assert record.subject == "KMeans(n_clusters=3, n_init=1)"
    record = auditor.audit(LogisticRegression, IRIS, params={"C": 1e-9}, size=100, view="attr(classes_)")
    assert (record.verdict, record.params) == ("pass", {"C": 1e-9})
    with pytest.raises(UsageError, match=r"no parameter 'c'.*: it has"):
        auditor.audit(LogisticRegression, IRIS, params={"c": 1})
    with pytest.raises(UsageError, match="random_state comes from r in an audit; leave it out"):
        auditor.audit(LogisticRegression, IRIS, params={"random_state": 7})
    with pytest.raises(UsageError, match="needs a value for estimator: audit an instance"):
        auditor.audit("sklearn.feature_selection:SelectFromModel", IRIS)


def test_scikit_learns_own_check_passes_what_takes_its_state_from_the_global_generator() -> None:
    """check_estimator looks at other things; here the audit exits 4 and names the generator."""
    state = np.random.get_state()
    try:
        checks = check_estimator(FromGlobal(), on_fail=None, on_skip=None)
    finally:
        np.random.set_state(state)
    assert len(checks) > 30
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []
    record = auditor.audit(FromGlobal, IRIS, size=60, view="fitted")
    assert record.verdict == "error"
    assert "it draws from the global generator numpy.random" in record.reason
    assert "luck_" in record.reason


def test_only_what_the_view_compares_decides() -> None:
    """What else differs between two fits is named; a search's timings are equal with probability below 1e-9."""
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2)
    for estimator, place in ((FromGlobal, "luck_"), (search, "cv_results_['mean_fit_time'][0]")):
        bench = bench_of(estimator, IRIS, size=60, probe=20)
        found = look(bench)
        assert place in found.unseen
        assert found.moved == (("numpy.random",) if estimator is FromGlobal else ())
        kind, message = conclude(bench, found, None).warnings[-1]
        assert kind == "unseen"
        assert "two fits on the same sample with the same r differ in" in message
        assert message.endswith("; the view predict does not look there")


def test_same_learner_same_record_from_python_and_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    import msgspec

    from auditor.cli.command_line import run

    np.savez(tmp_path / "iris.npz", X=IRIS[0], y=IRIS[1])
    spec = str(tmp_path / "iris.npz")
    arguments = ["--source", spec, "--size", "90", "--probe", "30", "--param", "max_depth=2", "--json", "-"]
    assert run(["check", "sklearn.tree:DecisionTreeClassifier", *arguments]) == 1
    by_command = json.loads(capsys.readouterr().out)
    record = auditor.audit("sklearn.tree:DecisionTreeClassifier", spec, size=90, probe=30, params={"max_depth": 2})
    assert timeless(by_command) == timeless(json.loads(msgspec.json.encode(record)))


def test_nothing_imports_scikit_learn_unless_asked() -> None:
    import subprocess
    import sys

    code = (
        "import sys, auditor; auditor.audit(lambda s, r: 1, lambda rng, n: rng.random(n), size=1);"
        "sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
