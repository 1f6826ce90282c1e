"""What nox runs is what pyproject.toml promises."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("nox")
ROOT = Path(__file__).parents[1]


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
