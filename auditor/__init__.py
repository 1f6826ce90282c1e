"""auditor: does an algorithm's answer survive fresh data?

    auditor.audit(fn, "bernoulli(0.5)", size=1000, rho=0.1)

runs fn(sample, r) on pairs of independent samples with the same r and says whether two runs disagree with
probability at most rho. Public names are loaded when first used: importing auditor imports neither numpy nor scipy.

PYTEST_DONT_REWRITE: it has no asserts for pytest to rewrite, and may be imported before pytest is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.assertion import assert_reproducible as assert_reproducible
    from auditor.errors import AuditorError as AuditorError
    from auditor.generalise import audit_generalisation as audit_generalisation
    from auditor.grouped import audit_profile as audit_profile
    from auditor.outcome import fingerprint as fingerprint
    from auditor.pipeline import audit as audit
    from auditor.pipeline import replay as replay
    from auditor.randomness import Randomness as Randomness
    from auditor.report.record import Record as Record
    from auditor.reuse import audit_reuse as audit_reuse
    from auditor.sampling import Sample as Sample
    from auditor.side_by_side import audit_private as audit_private
    from auditor.subjects import subject as subject
    from auditor.worst_case import audit_worst as audit_worst
    from auditor.worst_profile import audit_worst_profile as audit_worst_profile

__version__ = "0.1.0"

_HOMES = {
    "AuditorError": "auditor.errors",
    "Randomness": "auditor.randomness",
    "Record": "auditor.report.record",
    "Sample": "auditor.sampling",
    "assert_reproducible": "auditor.assertion",
    "audit": "auditor.pipeline",
    "audit_generalisation": "auditor.generalise",
    "audit_private": "auditor.side_by_side",
    "audit_profile": "auditor.grouped",
    "audit_reuse": "auditor.reuse",
    "audit_worst": "auditor.worst_case",
    "audit_worst_profile": "auditor.worst_profile",
    "fingerprint": "auditor.outcome",
    "replay": "auditor.pipeline",
    "subject": "auditor.subjects",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'auditor' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
