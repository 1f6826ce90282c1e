"""Makes docs/learners.md: `python docs/make_learners.py`, from the root of a checkout with the extra `learners`.

Every learner is one command line, of a library's own class or of a file in examples/learners, and its verdict is
measured here.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from auditor.flow.record import Record, read_record
from auditor.report.words import wobble_parts

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "learners.md"
HERE = "examples/learners"
IRIS, DIABETES = "--source sklearn:load_iris", "--source sklearn:load_diabetes"
QUIET = "--param verbose=False --param allow_writing_files=False"
LEARNERS = {
    "a random forest": f"sklearn.ensemble:RandomForestClassifier {IRIS} --param n_estimators=5",
    "a grid search": f"{HERE}/searches.py:grid {IRIS}",
    "a random search, its choice": f'{HERE}/searches.py:drawn {IRIS} --view "attr(best_params_)"',
    "a pipeline": f"{HERE}/pipeline.py:pipeline {IRIS} --param logisticregression__C=0.1",
    "a pipeline that names columns": f"{HERE}/churned.py:model --source {HERE}/churned.py:customers --size 500",
    "k-means": f"sklearn.cluster:KMeans {IRIS} --param n_clusters=3",
    "DBSCAN, how many clusters": f'sklearn.cluster:DBSCAN {IRIS} --view "attr(labels_)|distinct"',
    "the lasso's choice of features": f'sklearn.linear_model:Lasso {DIABETES} --view "attr(coef_)|nonzero"',
    "ridge regression": f"sklearn.linear_model:Ridge {DIABETES}",
    "xgboost": f"xgboost:XGBClassifier {IRIS} --param n_estimators=5 --param n_jobs=1",
    "lightgbm": f"lightgbm:LGBMClassifier {IRIS} --param n_estimators=5 --param n_jobs=1",
    "catboost": f"catboost:CatBoostClassifier {IRIS} --param n_estimators=5 --param thread_count=1 {QUIET}",
    "statsmodels, by p-values": f"{HERE}/least_squares.py:significant --source {HERE}/least_squares.py:rows --size 200",
    "pandas": f"{HERE}/best_shop.py:best --source {HERE}/best_shop.py:sales --size 1000",
    "polars": f"{HERE}/busy_hours.py:busiest --source {HERE}/busy_hours.py:visits --size 1000",
    "scipy's curve_fit": f'{HERE}/decay.py:decay --source {HERE}/decay.py:readings --size 3000 --view "round(1)"',
    "an A/B test": f"{HERE}/ab_test.py:ship --source {HERE}/ab_test.py:visitors --size 1000",
    "one against the rest": f'sklearn.multiclass:OneVsRestClassifier {IRIS} --param "estimator=sklearn.svm:SVC(C=2)"',
    "a vote": f"sklearn.ensemble:VotingClassifier {IRIS} "
    "--param \"estimators=[('tree', sklearn.tree:DecisionTreeClassifier()), ('svm', sklearn.svm:SVC(C=2))]\"",
    "clusters in a hierarchy": f"sklearn.cluster:AgglomerativeClustering {IRIS}",
    "HDBSCAN": f"sklearn.cluster:HDBSCAN {IRIS}",
    "a function of data": f"{HERE}/as_they_are.py:middle --source norm --size 2000",
    "a function of features and labels": f"{HERE}/as_they_are.py:important {IRIS}",
    "a function with a seed": f"{HERE}/as_they_are.py:bootstrapped --source norm --size 2000",
    "statsmodels, a class": 'statsmodels.api:OLS --source sklearn:load_diabetes --view "attr(params)|sign"',
    "river, row by row": "river.linear_model:LogisticRegression --source sklearn:load_breast_cancer",
    "river, a tree": f"river.tree:HoeffdingTreeClassifier {IRIS}",
    "river, clusters": f"river.cluster:KMeans {IRIS} --param n_clusters=3",
    "lifelines, a regression": f"lifelines:CoxPHFitter --source {HERE}/as_they_are.py:survivors --size 300 "
    '--param duration_col=T --param event_col=E --view "attr(params_)|round(0)"',
    "lifelines, a median": "lifelines:KaplanMeierFitter --source expon --size 300 "
    '--view "attr(median_survival_time_)|round(0)"',
    "networkx, communities": f"{HERE}/as_they_are.py:communities --source {HERE}/as_they_are.py:friendships "
    "--size 1000 --view partition",
    "optuna, a study": f'{HERE}/as_they_are.py:tuned --source norm --size 1000 --view "attr(best_params)"',
    "torch": f"{HERE}/as_they_are.py:perceptron --source sklearn:load_breast_cancer --randomness torch",
    "jax": f"{HERE}/as_they_are.py:projected --source {HERE}/as_they_are.py:friendships --size 1000 --randomness jax",
    "imblearn": f"imblearn.ensemble:BalancedRandomForestClassifier {IRIS} --param n_estimators=5",
    "pyod": f"pyod.models.iforest:IForest {IRIS} --param n_estimators=5",
    "hmmlearn": f"hmmlearn.hmm:GaussianHMM {IRIS} --param n_components=2",
    "kmodes": f"kmodes.kmodes:KModes {IRIS} --param n_clusters=3",
    "umap": f"umap:UMAP {IRIS}",
    "pygam": "pygam:LinearGAM --source sklearn:load_diabetes",
    "a bandit": f"{HERE}/bandit.py:best_arm --source {HERE}/bandit.py:rounds --size 300",
}
TEXT = """# Learners as people have them

Each is audited by one command line, from the root of a checkout where its library is installed: a class of a library,
an object of a module, or a function, none with code that helps the auditor. A verdict speaks of its source and size,
and what wobbles of the pairs that were run. Made by `python docs/make_learners.py`.

`python benchmarks/estimators.py` tries the 208 estimators that scikit-learn 1.9 lists, each with 20 seconds of runs,
and nearly all end with a verdict at the first try. The others are refused, with the reason and the cure:
`FrozenEstimator` learns nothing from a sample, `KernelCenterer` takes a square matrix, and of `NearestNeighbors`
nothing would be compared without a view of your own.

| learner | command after `python -m auditor check` | verdict | mismatches | what wobbles |
|---|---|---|---|---|
"""


def audited(words: str) -> Record:
    """The record of one command line."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        command = [sys.executable, "-W", "ignore", "-m", "auditor", "check", *shlex.split(words), "--json", str(file)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if ended.returncode not in (0, 1):
            sys.exit(f"{words}\n{ended.stdout}{ended.stderr}")
        return read_record(file)


def row(name: str, words: str) -> str:
    record = audited(words)
    count = f"{record.mismatches:,} of {record.pairs:,} pairs"
    lines = [line for part in wobble_parts(record) for line in part.texts]
    cells = (
        name,
        f"`{words}`",
        record.verdict,
        count,
        "; ".join(line.removesuffix("; most often:") for line in lines[:2]),
    )
    return "".join(f"| {cell.replace('|', chr(92) + '|')} " for cell in cells) + "|\n"


def main() -> None:
    PAGE.write_text(TEXT + "".join(row(name, words) for name, words in LEARNERS.items()))


if __name__ == "__main__":
    main()
