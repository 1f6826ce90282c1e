from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator
from support.requests import audit, bench_of, looked, timeless

import auditor
from auditor.errors import UsageError
from auditor.randomness import from_key, root_key
from auditor.subjects.estimators import Fit, fresh_copy, unlisted
from auditor.subjects.subject import load_subject
from auditor.trials.preflight import conclude, run_preflight

pytestmark = pytest.mark.usefixtures("little_advice")

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
    assert fit.default_view == (predictions if predicts else "clusters" if target.endswith("DBSCAN") else "fitted")
    source = (np.array(IRIS[0]), np.array(IRIS[1]))
    rho = 0.3 if target in UNNAMED else 0.1  # which few pairs tell: most differ often
    record = audit(target, source, size=80, rho=rho)
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
    assert audit(f"{__name__}:scaled", IRIS, size=100, probe=40, rho=0.5).verdict in ("pass", "fail")
    record = audit(KMeans(n_clusters=3, n_init=1), IRIS, size=100, probe=40, rho=0.05)
    assert record.subject == "KMeans(n_clusters=3, n_init=1)"
    record = audit(LogisticRegression, IRIS, params={"C": 1e-9}, size=100, view="attr(classes_)", rho=0.5)
    assert (record.verdict, record.params) == ("pass", {"C": 1e-9})
    with pytest.raises(UsageError, match=r"no parameter 'c'.*: it has"):
        audit(LogisticRegression, IRIS, params={"c": 1})
    with pytest.raises(UsageError, match="random_state comes from r in an audit; leave it out"):
        audit(LogisticRegression, IRIS, params={"random_state": 7})
    with pytest.raises(UsageError, match="needs a value for estimator: for example --param"):
        audit("sklearn.feature_selection:SelectFromModel", IRIS)


def test_scikit_learns_own_check_passes_what_takes_its_state_from_the_global_generator() -> None:
    """check_estimator looks at other things; here the audit exits 4 and names the generator."""
    state = np.random.get_state()
    try:
        checks = check_estimator(FromGlobal(), on_fail=None, on_skip=None)
    finally:
        np.random.set_state(state)
    assert len(checks) > 30
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []
    record = audit(FromGlobal, IRIS, size=60, view="fitted")
    assert record.verdict == "error"
    assert "it draws from the global generator numpy.random" in record.reason
    assert "luck_" in record.reason


def test_only_what_the_view_compares_decides() -> None:
    """What else differs between two fits is named."""
    bench = bench_of(FromGlobal, IRIS, size=60, probe=20)
    found = looked(run_preflight(bench))
    assert (found.unseen, found.moved) == (("luck_",), ("numpy.random",))
    kind, message = conclude(bench, found, None).warnings[-1]
    assert kind == "unseen"
    assert message == (
        "two fits on the same sample with the same r differ in luck_; the view predict does not look there"
    )


class LuckySearch(GridSearchCV):
    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        super().fit(X, y, **params)
        self.cv_results_["luck"] = np.random.random()
        return self


def test_the_times_of_a_search_are_no_news_and_hide_nothing() -> None:
    """They are equal with probability below 1e-9."""
    search = LuckySearch(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2)
    bench = bench_of(search, IRIS, size=60, view="attr(best_params_)")
    checked = conclude(bench, looked(run_preflight(bench)), None)
    places = "cv_results_ and refit_time_"
    assert ("unseen", f"it keeps times, in {places}; the view attr(best_params_) does not look there") in checked.notes
    assert [message for kind, message in checked.warnings if kind == "unseen"] == [
        "two fits on the same sample with the same r differ in cv_results_['luck']; the view attr(best_params_) does "
        "not look there"
    ]
    record = audit(search, IRIS, size=60, view="fitted")
    assert record.verdict == "error"
    assert "keeps how long it took, at output['cv_results_']['mean_fit_time']" in record.reason
    assert record.reason.endswith("choose another, such as predict or attr(best_params_)")


def test_r_reaches_splitters_and_the_users_own_objects_stay_as_they_were() -> None:
    splits, tree = KFold(3, shuffle=True), DecisionTreeClassifier()
    search = GridSearchCV(tree, {"max_depth": [1]}, cv=splits)
    for fit, params in ((Fit(search), {}), (Fit(GridSearchCV), {"estimator": tree, "param_grid": {}, "cv": splits})):
        one, again, other = (fit(IRIS, from_key(root_key(seed)), **params) for seed in (1, 1, 2))
        assert one.cv.random_state == again.cv.random_state != other.cv.random_state
        assert one.cv.random_state != one.estimator.random_state
    assert splits.random_state is tree.random_state is None
    ordered = Fit(GridSearchCV(tree, {"max_depth": [1]}, cv=KFold(3)))(IRIS, from_key(root_key(1)))
    assert ordered.cv.random_state is None


@pytest.mark.parametrize(("module", "name"), [("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier")])
def test_parameters_that_come_through_keywords(module: str, name: str) -> None:
    kind = getattr(pytest.importorskip(module), name)
    fitted = Fit(kind)(
        IRIS, from_key(root_key(1)), n_estimators=2, n_jobs=1, verbosity=-1 if module != "xgboost" else 0
    )
    assert fitted.n_estimators == 2
    assert isinstance(fitted.get_params()["random_state"], int)
    assert load_subject(f"{module}:{name}", texts={"n_estimators": "2"}).settings["learning_rate"] == (
        None if module == "xgboost" else 0.1
    )
    assert load_subject(kind, {"max_depht": 3}).params == {"max_depht": 3}  # anything goes there
    assert unlisted(kind, {"max_depht": 3, "n_estimators": 2}) == {"max_depht": " (did you mean max_depth?)"}
    piped = make_pipeline(StandardScaler(), kind())
    assert load_subject(piped, {f"{name.lower()}__max_depth": 3}).params
    with pytest.raises(UsageError, match=rf"no parameter 'xx__max_depth'.*: it has .*{name.lower()}"):
        load_subject(piped, {"xx__max_depth": 3})
    with pytest.raises(UsageError, match="seed comes from r in an audit; leave it out"):
        load_subject(kind, {"seed": 3})


class Sparing:
    """It lists the parameters that were given alone, and has a seed that is none of those, as catboost does."""

    def __init__(self, depth: int = 6, random_seed: int | None = None) -> None:
        self.given = {
            name: one for name, one in (("depth", depth), ("random_seed", random_seed)) if one not in (6, None)
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return dict(self.given)

    def set_params(self, **params: Any) -> Sparing:
        self.given |= params
        return self

    def fit(self, x: Any, y: Any = None) -> Sparing:
        self.seen_ = self.given
        return self


def test_r_reaches_a_seed_that_is_not_listed_and_parameters_that_are_not() -> None:
    piped = make_pipeline(StandardScaler(), Sparing())
    seen = Fit(piped)(IRIS, from_key(root_key(1)), sparing__depth=3)[-1].seen_
    assert seen["depth"] == 3
    assert isinstance(seen["random_seed"], int)
    with pytest.raises(UsageError, match=r"'sparing__dept' \(did you mean sparing__depth\?\): it has sparing__depth, "):
        load_subject(piped, {"sparing__dept": 3})


def test_the_report_says_where_r_reaches_nothing() -> None:
    record = audit(LinearRegression, IRIS, size=60, view="attr(n_features_in_)", rho=0.5)
    notes = [(one.severity, one.message) for one in record.findings if one.kind == "no-randomness"]
    assert notes == [
        ("info", "r reaches no part of sklearn.linear_model._base:LinearRegression: it has no random_state")
    ]
    record = audit(DecisionTreeClassifier, IRIS, size=60, view="attr(n_features_in_)", rho=0.5)
    assert "no-randomness" not in [one.kind for one in record.findings]


class Stubborn(BaseEstimator):
    def __init__(self, words: str = "a") -> None:
        self.words = words.split()

    def fit(self, X: Any, y: Any = None) -> Stubborn:
        return self


class MadeWithData:
    """As models of statsmodels are."""

    def __init__(self, endog: Any, exog: Any = None) -> None:
        self.data = endog, exog

    def fit(self, method: str = "pinv") -> Any:
        return self.data


def test_what_cannot_be_made_afresh_is_a_sentence() -> None:
    with pytest.raises(
        UsageError, match=r"cannot be copied for each run, which raised AttributeError.*: audit its class"
    ):
        load_subject(Stubborn())
    with pytest.raises(UsageError, match=r"(?s)is given its data when it is made.*return MadeWithData\(y, X\)\.fit"):
        load_subject(MadeWithData([1]))
    with pytest.raises(UsageError, match="has no set_params, so that word cannot be set: make the object with it"):
        load_subject(Parrot(), {"word": 3})
    fitted = LinearRegression().fit(*IRIS)
    assert not hasattr(fresh_copy(fitted, {}), "coef_")


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
