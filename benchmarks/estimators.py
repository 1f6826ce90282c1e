"""Does every estimator of scikit-learn reach a verdict? `python benchmarks/estimators.py [NAME ...] [--every N]`.

Each is audited by one command, `check sklearn.module:Class --source ... --for 20s`, with a source that its tags ask for
and, where it needs an estimator or a list of them, the options that the refusal of the bare command names. Ends with a
table of those without a verdict and the reason, and with how many have one.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
HERE = "benchmarks/estimators.py"
WORDS = np.array([f"{one} {two}" for one in ("red", "green", "blue") for two in ("cat", "dog", "hen", "owl")])
COLUMN = np.linspace(0.0, 1.0, 60), np.linspace(0.0, 1.0, 60) ** 2
IMAGES = np.arange(20.0 * 20 * 20).reshape(20, 20, 20) % 17
BAGS = np.array([*[[0, 1], [1, 2], [0, 2], [0, 1, 2]] * 5, None], dtype=object)[:-1]
DICTS = np.array([{"a": i % 3, "b": float(i)} for i in range(30)], dtype=object)
MANY_LABELS = np.random.default_rng(0).normal(size=(60, 4)), np.arange(120).reshape(60, 2) % 3
SOURCES = {  # by name, where the tags do not tell
    "IsotonicRegression": f"{HERE}:COLUMN",
    "PatchExtractor": f"{HERE}:IMAGES",
    "MultiLabelBinarizer": f"{HERE}:BAGS",
    "DictVectorizer": f"{HERE}:DICTS",
    "FeatureHasher": f"{HERE}:DICTS",
    "MultiOutputClassifier": f"{HERE}:MANY_LABELS",
    "ClassifierChain": f"{HERE}:MANY_LABELS",
    "MultiOutputRegressor": "sklearn:load_linnerud",
    "RegressorChain": "sklearn:load_linnerud",
    "CCA": "sklearn:load_linnerud",
    "PLSCanonical": "sklearn:load_linnerud",
    "PLSSVD": "sklearn:load_linnerud",
}
REGRESSION = "sklearn.tree:DecisionTreeRegressor()"
PARAMS = {  # where the example of the refusal is for another task
    "MultiOutputRegressor": [f"estimator={REGRESSION}"],
    "RegressorChain": [f"estimator={REGRESSION}"],
    "StackingRegressor": [f"estimators=[('a', {REGRESSION}), ('b', sklearn.linear_model:Ridge())]"],
    "VotingRegressor": [f"estimators=[('a', {REGRESSION}), ('b', sklearn.linear_model:Ridge())]"],
    "TunedThresholdClassifierCV": ["estimator=sklearn.linear_model:LogisticRegression()"],
    "FixedThresholdClassifier": ["estimator=sklearn.linear_model:LogisticRegression()"],
    "SelfTrainingClassifier": ["estimator=sklearn.tree:DecisionTreeClassifier()"],
    "SparseRandomProjection": ["n_components=2"],
    "GaussianRandomProjection": ["n_components=2"],
    "SpectralBiclustering": ["n_clusters=2"],
}
LONGEST = 600  # seconds after which a command is given up
BINARY = ("TunedThresholdClassifierCV", "FixedThresholdClassifier")


def source_for(name: str, kind: Any) -> str:
    """A source that the estimator's tags ask for."""
    from sklearn.base import is_classifier, is_regressor

    if name in SOURCES:
        return SOURCES[name]
    try:
        made = kind()
        tags = made.__sklearn_tags__()
    except Exception:  # one that needs an estimator
        return "sklearn:load_diabetes" if "Regressor" in name else binary_or_iris(name)
    if tags.input_tags.string and not tags.input_tags.two_d_array:
        return f"{HERE}:WORDS"
    if tags.target_tags.two_d_labels or (tags.target_tags.multi_output and not tags.target_tags.single_output):
        return "sklearn:load_linnerud"
    if is_regressor(made):
        return "sklearn:load_diabetes"
    return binary_or_iris(name) if is_classifier(made) or tags.target_tags.required else "sklearn:load_iris"


def binary_or_iris(name: str) -> str:
    return "sklearn:load_breast_cancer" if name in BINARY else "sklearn:load_iris"


def check(target: str, source: str, params: list[str]) -> tuple[str, str]:
    """The verdict of one command, or the reason why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        words = ["check", target, "--source", source, "--for", "20s", "--json", str(file)]
        words += [word for one in params for word in ("--param", one)]
        command = [sys.executable, "-W", "ignore", "-m", "auditor", *words]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired:
            return "timeout", f"no end after {LONGEST} s"
        if file.exists():
            record = json.loads(file.read_text())
            return record["verdict"], record["reason"]
        return "refused", done.stderr.partition("error: ")[2].strip() or done.stderr[-300:]


def audit(name: str, kind: Any) -> tuple[str, str]:
    """The verdict of an estimator, after its refusal's own example if it needs one."""
    place = kind.__module__
    while "._" in place:
        place = place.rpartition(".")[0]
    target, source = f"{place}:{name}", source_for(name, kind)
    verdict, reason = check(target, source, PARAMS.get(name, []))
    if verdict == "refused" and "for example --param" in reason:
        typed = shlex.split(reason.partition("for example ")[2])
        verdict, reason = check(target, source, typed[1::2])
    return verdict, reason


def main() -> None:
    from sklearn.utils import all_estimators

    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = dict(all_estimators())
    chosen = asked.names or sorted(known)[:: asked.every]
    found: dict[str, tuple[str, str]] = {}
    for name in chosen:
        started = time.perf_counter()
        found[name] = audit(name, known[name])
        print(f"{found[name][0]:13} {time.perf_counter() - started:6.1f} s  {name}", flush=True)
    without = {name: one for name, one in found.items() if one[0] not in ("pass", "fail", "inconclusive")}
    for name, (verdict, reason) in without.items():
        print(f"\n{name}: {verdict}: {' '.join(reason.split())[:400]}")
    print(f"\n{len(found) - len(without)} of {len(found)} have a verdict")


if __name__ == "__main__":
    main()
