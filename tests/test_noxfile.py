"""What nox runs is what pyproject.toml promises; the workflows run nox, and every file names one version."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import auditor

pytest.importorskip("nox")
ROOT = Path(__file__).parents[1]


def workflow(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())
    return read


@pytest.fixture(scope="module")
def noxfile() -> ModuleType:
    """Loaded once: nox warns of a session that is registered twice."""
    spec = importlib.util.spec_from_file_location("noxfile", "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        spec.loader.exec_module(module)
    return module


def test_the_pythons_are_those_of_the_classifiers(noxfile: Any) -> None:
    lowest, *others = [tuple(map(int, python.split("."))) for python in noxfile.PYTHONS]
    assert f">={noxfile.PYTHONS[0]}" == noxfile.PROJECT["requires-python"]
    assert others == [(3, lowest[1] + i + 1) for i in range(len(others))]  # none is left out


def test_every_package_has_one_lowest_version(noxfile: Any) -> None:
    extras = noxfile.PROJECT["optional-dependencies"].values()
    needs = {*noxfile.PROJECT["dependencies"], *(need for extra in extras for need in extra)}
    assert {f"{name}>={version}" for name, version in noxfile.lowest(noxfile.PROJECT).items()} == needs


@pytest.mark.parametrize("need", ["numpy", "numpy>2", "numpy>=1.26,<3", "numpy>=2.0"])
def test_a_bound_that_is_none_or_another_elsewhere_is_refused(noxfile: Any, need: str) -> None:
    with pytest.raises(ValueError, match="name>=version"):
        noxfile.lowest({"dependencies": ["numpy>=1.26"], "optional-dependencies": {"dev": [need]}})


def test_ci_runs_every_session_on_every_python(noxfile: Any) -> None:
    jobs = workflow("ci")["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == noxfile.PYTHONS
    assert jobs["tests"]["steps"][-1]["run"] == 'nox -s "tests-${{ matrix.python }}"'
    checks = jobs["checks"]
    sessions = {*re.findall(r"^@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text(), flags=re.MULTILINE)}
    assert {*checks["strategy"]["matrix"]["session"], "tests"} == {*sessions} - {"lowest_versions"} | {"lowest"}
    assert {"run": 'nox -s "${{ matrix.session }}"'} in checks["steps"]


def test_only_the_job_that_publishes_may_speak_for_the_project() -> None:
    """And it runs nothing but the publisher: what it publishes was built and checked by a job without that right."""
    for name in ("ci", "release"):
        assert workflow(name)["permissions"] == {"contents": "read"}
        for job, steps in workflow(name)["jobs"].items():
            assert ("permissions" in steps) == (job == "publish")
    jobs = workflow("release")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["needs"] == "dist"
    assert [step["uses"].partition("@")[0] for step in jobs["publish"]["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]
    assert {"run": "nox -s dist"} in jobs["dist"]["steps"]


def test_every_file_that_names_the_version_has_the_same(noxfile: Any) -> None:
    named = {
        "CITATION.cff": r"^version: (\S+)$",
        "CHANGELOG.md": r"^## (\d\S+) - \d{4}-\d\d-\d\d$",
        "docs/ci.md": r"^    rev: v(\S+)$",
    }
    for file, pattern in named.items():
        found = re.search(pattern, (ROOT / file).read_text(), flags=re.MULTILINE)
        assert found is not None, file
        assert found[1] == auditor.__version__, file
    wheel = f"{noxfile.PROJECT['name'].replace('-', '_')}-${{GITHUB_REF_NAME#v}}-py3-none-any.whl"
    assert wheel in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_the_change_log_stays_short() -> None:
    assert len((ROOT / "CHANGELOG.md").read_text().splitlines()) < 80
