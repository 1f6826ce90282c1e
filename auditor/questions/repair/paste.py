"""The code to paste, and the commands that go with it."""

from __future__ import annotations

import shlex
from typing import Any

from auditor.questions.repair.settings import Setting
from auditor.request import Request
from auditor.statistics.digits import exact
from auditor.subjects.estimators import Fit
from auditor.subjects.subject import Subject, has_text, param_text
from auditor.trials.cell import Cell

FILE = "repaired.py"
NAME = "stable"
_WIDEST = 76


def code_of(subject: Subject, setting: Setting) -> str:
    """Return a module that imports the learner and the wrapper, and defines the repaired learner."""
    learner, imports = _learner(subject)
    imports += [f"from auditor.repair import {setting.wrapper}"]
    imports.sort(key=lambda line: (not line.startswith(("from functools", "from copy")), line))  # Python's own first
    call = [f"{NAME} = {setting.wrapper}({', '.join(filter(None, [learner, setting.keywords]))})"]
    if len(call[0]) > _WIDEST:  # in lines that a terminal does not break
        call = [f"{NAME} = {setting.wrapper}(", f"    {learner},"]
        for name, value in setting.arguments.items():
            if isinstance(value, dict):
                call += [f"    {name}={{", *(f"        {key!r}: {one!r}," for key, one in value.items()), "    },"]
            else:
                call.append(f"    {name}={value!r},")
        call.append(")")
    return "\n".join([*imports, "", *call, ""])


def _learner(subject: Subject) -> tuple[str, list[str]]:
    """Return an expression for the learner, and the imports that it needs. A learner in a file is named by its target,
    relative to the folder that the audit was run in."""
    place, _, name = (subject.target or "").rpartition(":")
    if not place:
        return subject.name.rpartition(".")[2], []
    if place.endswith(".py") or "." in name or not name.isidentifier():
        return repr(subject.target), []
    given = ", ".join(f"{key}={value!r}" for key, value in subject.params.items())
    line = f"from {place} import {name}"
    if not given:
        return name, [line]
    if not isinstance(subject.fn, Fit):
        return f"partial({name}, {given})", ["from functools import partial", line]
    if isinstance(subject.fn.estimator, type):
        return f"{name}({given})", [line]
    return f"deepcopy({name}).set_params({given})", ["from copy import deepcopy", line]


def check_command(cell: Cell, setting: Setting, request: Request, target: float, measure: str) -> str | None:
    """Return the command that audits the code once it is in a file; None where a command line cannot say it."""
    words = _source_words(cell, request)
    if words is None:
        return None
    subject = cell.subject
    if (subject.target or "").rpartition(":")[0].endswith(".py"):
        words += _param_words(subject)
    if setting.keeps_view:
        words += ["--view", str(cell.view.spec)] if request.options.view is not None else []
        words += ["--probe", str(cell.probe)] if cell.probe is not None else []
    words += ["--rho", exact(target), *(["--measure", measure] if measure != "rho" else [])]
    return shlex.join(["python", "-m", "auditor", "check", f"{FILE}:{NAME}", *words])


def price_command(cell: Cell, request: Request, target: float) -> str | None:
    """Return the command that finds how many rows would do instead; None where a command line cannot say it."""
    words = _source_words(cell, request, size=False)
    if words is None or cell.subject.target is None:
        return None
    words += [*_param_words(cell.subject), "--rho", exact(target)]
    return shlex.join(["python", "-m", "auditor", "price", str(cell.subject.target), *words])


def _source_words(cell: Cell, request: Request, *, size: bool = True) -> list[str] | None:
    """Return the words of a command line that name source, size and resampling; None where no command line can."""
    spec: Any = request.source if request.source is None else getattr(request.source, "spec", request.source)
    if not (spec is None or isinstance(spec, str)) or not all(map(has_text, cell.subject.params.values())):
        return None
    words = ["--source", spec] if spec else []
    words += ["--size", str(cell.size)] if size and request.options.size is not None else []
    return words + (["--resample", cell.resample] if cell.resample else [])


def _param_words(subject: Subject) -> list[str]:
    """Return the words of a command line that set the subject's parameters."""
    return [word for name, value in subject.params.items() for word in ("--param", f"{name}={param_text(value)}")]
