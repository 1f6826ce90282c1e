"""Commands to type begin as the one that was typed did."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor.flow.parts import program_of


@pytest.mark.parametrize(
    ("words", "program"),
    [
        ("python -m auditor check a.py:f", "python -m auditor"),
        (".venv/bin/python3 -m auditor list", ".venv/bin/python3 -m auditor"),
        ("python -P -m auditor list", "python -P -m auditor"),
        ("python {bin}/auditor check a.py:f", "auditor"),
        ("python {other}/auditor check a.py:f", "{other}/auditor"),
        ("python -m pytest -m auditor", None),
        ("python -m pytest auditor", None),
        ("python script.py -m auditor", None),
        ("python", None),
    ],
)
def test_a_program_is_called_as_it_was(
    words: str, program: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {name: tmp_path / name for name in ("bin", "other")}
    for folder in folders.values():
        folder.mkdir()
        (folder / "auditor").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(folders["bin"]))
    program_of.cache_clear()
    typed = tuple(words.format(**folders).split())
    assert program_of(typed) == (program and program.format(**folders))
