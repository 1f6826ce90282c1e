"""Which modules are mutated. It needs the standard library alone, so that the suite can check it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
SCOPE = (
    "algorithms",
    "auditor/case.py",
    "auditor/cli",
    "auditor/flow",
    "auditor/questions",
    "auditor/randomness.py",
    "auditor/repair/mechanisms",
    "auditor/repair/voting.py",
    "auditor/sources",
    "auditor/statistics",
    "auditor/subjects",
    "auditor/values",
)


def modules(places: tuple[str, ...] = ("",)) -> list[str]:
    """Return the modules in scope at or below these places, in order, but for packages that define no function."""
    everything = {path for place in SCOPE for path in [ROOT / place, *(ROOT / place).rglob("*.py")]}
    found = sorted(path for path in everything if path.suffix == ".py" and _defines_functions(path))
    paths = [path.relative_to(ROOT) for path in found]
    return [path.as_posix() for path in paths if any(path.is_relative_to(place) for place in places)]


def _defines_functions(path: Path) -> bool:
    return not path.name.startswith("__") or "def " in path.read_text()
