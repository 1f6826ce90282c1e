"""auditor: does an algorithm's answer survive fresh data?

    auditor.audit(fn, "bernoulli(0.5)", size=1000, rho=0.1)

runs fn(sample, r) on pairs of independent samples with the same r and says whether two runs disagree with
probability at most rho; auditor.ask("curve", fn, ...) and the like ask other questions. Public names are loaded when
first used: importing auditor imports neither numpy nor scipy. auditor.repair is a public package of its own, with the
names that it lists.

PYTEST_DONT_REWRITE: it has no asserts for pytest to rewrite, and may be imported before pytest is.
"""

# Nothing is imported at run time: `python -m auditor` runs this while the working folder is still first on the path.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from auditor import repair as repair
    from auditor.cli.assertion import assert_reproducible as assert_reproducible
    from auditor.errors import AuditorError as AuditorError
    from auditor.errors import BadInput as BadInput
    from auditor.errors import UnknownTruth as UnknownTruth
    from auditor.flow.asking import ask as ask
    from auditor.flow.asking import audit as audit
    from auditor.flow.one_pair import replay as replay
    from auditor.flow.record import Record as Record
    from auditor.randomness import Randomness as Randomness
    from auditor.sources.sample import Sample as Sample
    from auditor.subjects.subject import composed as composed
    from auditor.subjects.subject import subject as subject
    from auditor.values import fingerprint as fingerprint

__version__ = "0.2.0"

_HOMES = {
    "AuditorError": "auditor.errors",
    "BadInput": "auditor.errors",
    "Randomness": "auditor.randomness",
    "Record": "auditor.flow.record",
    "Sample": "auditor.sources.sample",
    "UnknownTruth": "auditor.errors",
    "ask": "auditor.flow.asking",
    "assert_reproducible": "auditor.cli.assertion",
    "audit": "auditor.flow.asking",
    "composed": "auditor.subjects.subject",
    "fingerprint": "auditor.values",
    "replay": "auditor.flow.one_pair",
    "subject": "auditor.subjects.subject",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> "Any":
    if name not in (*_HOMES, "repair"):
        raise AttributeError(f"module 'auditor' has no attribute {name!r}")
    import importlib

    if name == "repair":
        return importlib.import_module("auditor.repair")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*_HOMES, "repair", "__version__"]
