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
    "a bandit": f"{HERE}/bandit.py:best_arm --source {HERE}/bandit.py:rounds --size 300",
}
TEXT = """# Learners as people have them

Each is audited by one command line, from the root of a checkout with the extra `learners` (catboost apart): a class of
a library, an object of a module, or a function `A(sample, r)`, none with code that helps the auditor. A verdict speaks
of its source and size, and what wobbles of the pairs that were run. Made by `python docs/make_learners.py`.

| learner | command after `python -m auditor check` | verdict | mismatches | what wobbles |
|---|---|---|---|---|
"""


def audited(words: str) -> Record:
    """The record of one command line."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        command = [sys.executable, "-m", "auditor", "check", *shlex.split(words), "--json", str(file)]
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
