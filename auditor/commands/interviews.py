"""reuse: one sample for many adaptive queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rich_click as click

from auditor.commands.options import Count, running_options, split_params
from auditor.errors import EXIT_CODES
from auditor.outlets import deliver, error_console, plain, prints_logged, take_files


@click.command()
@click.argument("target")
@click.option("--analyst", required=True, metavar="FN", help="Who asks: module:fn, called fn(ask, rng).")
@click.option("--queries", type=Count(), required=True, metavar="M", help="The most that it asks.")
@click.option("--source", metavar="SPEC", help='Where samples come from: "bernoulli(0.5)", module:fn.')
@click.option("--size", type=Count(), metavar="N", help="Rows a sample.")
@click.option("--rho", type=float, metavar="R", help="Of each answer.  [default: claimed, or 0.1]")
@click.option("--fixed", type=Count(), default=400, show_default=True, metavar="N", help="Trials, judged once.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="How sure the verdict must be.")
@click.option("--seed", type=Count(), default=0, show_default=True, help="Root of all randomness.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter of the mechanism; repeatable.")
@click.option("--json", "json_file", metavar="FILE", help="Write the record here; - is standard output.")
@running_options
def reuse(target: str, params: Sequence[str], **options: Any) -> int:
    """Does reusing one sample move an adaptive analyst's transcripts by at most (M - 1) rho? Runs their code.

    TARGET answers queries: A(sample, r, *, query). The statistical distance between transcripts with a fresh sample
    for each query and with one for all is bounded from both sides.

    Example: python -m auditor reuse rstat_answer --analyst algorithms.data_reuse:fit_a_vote --queries 21

    Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 a run failed, 130 interrupted.
    """
    from auditor.report.escape import brief
    from auditor.report.reuse_record import show_reuse, to_json
    from auditor.reuse import audit_reuse

    files = take_files(options, ("json",))
    error_console().print(plain(brief(f"loading {target} and {options['analyst']}: this runs their code"), "dim"))
    with prints_logged() as (log, _):
        record = audit_reuse(target, options.pop("source"), texts=split_params(params), log=log.file, **options)
    deliver({"--json": lambda: to_json(record)}, files, lambda out: show_reuse(record, out), log)
    return EXIT_CODES["interrupted" if record.interrupted else record.verdict]
