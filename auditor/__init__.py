"""auditor: does an algorithm's answer survive fresh data?

    auditor.audit(fn, "bernoulli(0.5)", size=1000, rho=0.1)

runs fn(sample, r) on pairs of independent samples with the same r and says whether two runs disagree with
probability at most rho. Public names are loaded when first used: importing auditor imports neither numpy nor scipy.

PYTEST_DONT_REWRITE: it has no asserts for pytest to rewrite, and may be imported before pytest is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.errors import AuditorError as AuditorError
    from auditor.flow.assertion import assert_reproducible as assert_reproducible
    from auditor.flow.pipeline import audit as audit
    from auditor.flow.pipeline import replay as replay
    from auditor.flow.record import Record as Record
    from auditor.questions.generalise import audit_generalisation as audit_generalisation
    from auditor.questions.grouped import audit_profile as audit_profile
    from auditor.questions.reuse import audit_reuse as audit_reuse
    from auditor.questions.side_by_side import audit_private as audit_private
    from auditor.questions.worst_case import audit_worst as audit_worst
    from auditor.questions.worst_profile import audit_worst_profile as audit_worst_profile
    from auditor.randomness import Randomness as Randomness
    from auditor.sources.sample import Sample as Sample
    from auditor.subjects.outcome import fingerprint as fingerprint
    from auditor.subjects.subject import subject as subject

__version__ = "0.1.0"

_HOMES = {
    "AuditorError": "auditor.errors",
    "Randomness": "auditor.randomness",
    "Record": "auditor.flow.record",
    "Sample": "auditor.sources.sample",
    "assert_reproducible": "auditor.flow.assertion",
    "audit": "auditor.flow.pipeline",
    "audit_generalisation": "auditor.questions.generalise",
    "audit_private": "auditor.questions.side_by_side",
    "audit_profile": "auditor.questions.grouped",
    "audit_reuse": "auditor.questions.reuse",
    "audit_worst": "auditor.questions.worst_case",
    "audit_worst_profile": "auditor.questions.worst_profile",
    "fingerprint": "auditor.subjects.outcome",
    "replay": "auditor.flow.pipeline",
    "subject": "auditor.subjects.subject",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'auditor' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
