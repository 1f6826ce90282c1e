"""What `.ci/run` does on one Python, on every Python that is promised; and the tests at the lowest versions promised.

    nox                                     # all of it
    nox -s tests-3.13 -- tests/subjects     # the tests of one folder on one Python
    nox -s lowest                           # the promise that the lower bounds in pyproject.toml make
    nox -s dist                             # wheel and sdist, checked, and the wheel used where nothing else is

Both promises stand in pyproject.toml, and nowhere else: the Pythons in its classifiers, the versions in its bounds.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import nox

PROJECT: dict[str, Any] = nox.project.load_toml("pyproject.toml")["project"]
PYTHONS = nox.project.python_versions({"project": PROJECT})
EVERYTHING = ("-e", ".[dev,learners]")
CHECKERS = ("ruff", "mypy", "scipy-stubs")  # which no test imports; stubs of scipy need a newer scipy than the tests
AT_LOWEST = ("tests/flow", "tests/cli", "tests/questions")


def lowest(project: dict[str, Any]) -> dict[str, str]:
    """Return the lowest version that is promised of each package, whether the project or one of its extras needs it."""
    found: dict[str, str] = {}
    for needs in (project["dependencies"], *project["optional-dependencies"].values()):
        for need in needs:
            bound = re.fullmatch(r"([\w-]+)>=([\w.]+)", need)
            if bound is None or found.setdefault(bound[1], bound[2]) != bound[2]:
                raise ValueError(f"pyproject.toml: {need!r} must be name>=version, with one version wherever it stands")
    return found


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests, or those that are named after --."""
    session.install(*EVERYTHING)
    session.run("python", "-m", "pytest", *(session.posargs or ("-n", "auto")))


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    session.install(f"ruff>={lowest(PROJECT)['ruff']}")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(python=PYTHONS[0])
def types(session: nox.Session) -> None:
    session.install(*EVERYTHING)
    session.run("mypy")


@nox.session(python=PYTHONS[0])
def docs(session: nox.Session) -> None:
    """Build the site, docs/_build/html/index.html; a warning is an error."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "-E", "docs", "docs/_build/html", *session.posargs)


@nox.session(python=PYTHONS[0])
def dist(session: nox.Session) -> None:
    """Build sdist and wheel into dist/, check what an index would show of them, and use the wheel in a fresh place."""
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", "dist", ".")
    (wheel,), (sdist,) = Path("dist").glob("*.whl"), Path("dist").glob("*.tar.gz")
    session.run("twine", "check", "--strict", str(wheel), str(sdist))
    folder = Path(session.create_tmp()).resolve()
    session.run("python", "-m", "venv", "--clear", str(folder / "fresh"))
    python = str(folder / "fresh" / "bin" / "python")
    session.run(python, "-m", "pip", "install", "--quiet", str(wheel.resolve()), external=True)
    use_as_in_the_readme(session, python, folder / "empty")


def use_as_in_the_readme(session: nox.Session, python: str, folder: Path) -> None:
    """Audit README's two learners with an installed package, in a folder that has nothing else, as a page too."""
    blocks = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", Path("README.md").read_text(), flags=re.DOTALL)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in blocks:
        (folder / name).write_text(text)
    with session.chdir(folder):
        for name, code in {"learner.py": 1, "mended.py": 0}.items():
            words = ("check", f"{name}:threshold", "--source", "norm", "--size", "10000", "--html", f"{name}.html")
            session.run(python, "-m", "auditor", *words, success_codes=[code], external=True)
            if "<svg" not in Path(f"{name}.html").read_text():
                session.error(f"{name}.html has no picture: is a file missing from the wheel?")
        session.run(python, "-m", "auditor", "check", "algorithms.statistical_query:rstat", external=True)


@nox.session(python=PYTHONS[0], name="lowest")
def lowest_versions(session: nox.Session) -> None:
    """Run tests where every package has the lowest version that pyproject.toml allows."""
    constraints = Path(session.create_tmp()) / "lowest.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in lowest(PROJECT).items()))
    extras = PROJECT["optional-dependencies"]
    for_tests = [need for need in (*extras["dev"], *extras["learners"]) if not need.startswith(CHECKERS)]
    session.install("-e", ".", *for_tests, "-c", str(constraints))
    session.run("python", "-m", "pytest", *(session.posargs or ("-n", "auto", *AT_LOWEST)))
