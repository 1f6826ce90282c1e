"""curve and price: rho against what varies, and what a claim costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.cli.options import Count, running_options, split_params, take_how
from auditor.cli.outlets import Documents, deliver, prints_logged, take_files
from auditor.errors import EXIT_CODES
from auditor.trials.second_server import start_server

if TYPE_CHECKING:
    from auditor.report.curve_record import CurveRecord


@click.command()
@click.argument("target")
@click.option("--vary", required=True, metavar="NAME=VALUES", help="size=100:1e6:log12, p=0.4:0.6:lin21, tau=0.05,0.1.")
@click.option("--source", metavar="SPEC", help='Where samples come from; {p} in it varies: "bernoulli({p})".')
@click.option("--size", type=Count(), metavar="M", help="Rows a sample, where it is not what varies.")
@click.option("--sample", metavar="KIND", help="Samples as rows, or as counts over the values of a discrete source.")
@click.option("--worst", is_flag=True, help="Search for the value with the largest rho; fresh pairs confirm it.")
@click.option("--pairs", type=Count(), metavar="N", help="Pairs in all.  [default: 1000 a value]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of all bands together.")
@click.option("--seed", type=Count(), default=0, show_default=True, help="Root of all randomness.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter of the subject; repeatable.")
@click.option("--view", metavar="SPEC", help="What of the output counts: round(3), sign, argmax, predict, ...")
@click.option("--randomness", metavar="KIND", help="What r is: Generator, int, RandomState or Random.")
@click.option("--json", "json_file", metavar="FILE", help="Write the curve here; - is standard output.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write its points here.")
@click.option("--svg", "svg_file", metavar="FILE", help="Draw it here.")
@running_options
def curve(target: str, vary: str, params: Sequence[str], randomness: str | None, **options: Any) -> int:
    """rho of TARGET against its size, a parameter, or an argument of its source. Runs its code.

    Every band holds together with the others; pairs go where the band is widest, or with --worst where rho may be
    largest. Shown beside it: what the subject's theorem promises, and what no algorithm can be below on its worst
    source.

    Example: python -m auditor curve algorithms.statistical_query:rstat --vary size=100:1e6:log12 --sample counts

    Exit codes: 0 measured, 1 rho is above what the theorem promises, 2 usage, 4 a run failed, 130 interrupted.
    """
    start_server()
    from auditor.questions.curve import run_curve
    from auditor.questions.vary import make_points, parse_axis
    from auditor.report.curves import show_curve
    from auditor.report.progress import WatchingArms

    how, _ = take_how(options)
    files = take_files(options, ("json", "csv", "svg"))
    pairs, worst, source = options.pop("pairs"), options.pop("worst"), options.pop("source")
    axis = parse_axis(vary)
    with prints_logged() as (log, ours), WatchingArms(ours, axis.name) as watch:
        axis, setups = make_points(target, axis, source, split_params(params), randomness, **options)
        how, sure = replace(how, log=log.file), options["confidence"]
        measured = run_curve(axis, setups, budget=pairs, confidence=sure, worst=worst, watch=watch, how=how)
    deliver(_curve_documents(measured), files, lambda out: show_curve(measured, out), log)
    return _curve_code(measured)


@click.command()
@click.argument("target")
@click.option("--rho", type=float, metavar="R", help="The mismatch probability you accept.  [default: claimed, or 0.1]")
@click.option("--source", metavar="SPEC", help='Where samples come from: "bernoulli(0.5)", module:fn, data.csv#label.')
@click.option("--sample", metavar="KIND", help="Samples as rows, or as counts over the values of a discrete source.")
@click.option("--pairs", type=Count(), metavar="N", help="Pairs in all, at most.  [default: 2000 / rho and / delta]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of all that is said together.")
@click.option("--seed", type=Count(), default=0, show_default=True, help="Root of all randomness.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter of the subject; repeatable.")
@click.option("--view", metavar="SPEC", help="What of the output counts: round(3), sign, argmax, predict, ...")
@click.option("--randomness", metavar="KIND", help="What r is: Generator, int, RandomState or Random.")
@click.option("--json", "json_file", metavar="FILE", help="Write what was found here; - is standard output.")
@running_options
def price(target: str, params: Sequence[str], **options: Any) -> int:
    """The smallest size at which TARGET keeps its claim, beside what theorem and limits say. Runs its code.

    It is taken for granted that more rows never hurt. A subject with a parameter rho is given the target as its rho.

    Example: python -m auditor price algorithms.statistical_query:rstat --rho 0.1

    Exit codes: 0 found, 1 the theorem's own size is too small, 2 usage, 3 not found within the pairs, 4 a run failed.
    """
    start_server()
    from auditor.questions.price import run_price
    from auditor.report.price_record import to_json
    from auditor.report.prices import show_price
    from auditor.report.progress import WatchingPrice

    how, _ = take_how(options)
    files = take_files(options, ("json",))
    with prints_logged() as (log, ours), WatchingPrice(ours) as watch:
        how = replace(how, log=log.file)
        found = run_price(target, options.pop("source"), split_params(params), watch=watch, how=how, **options)
    deliver({"--json": lambda: to_json(found)}, files, lambda out: show_price(found, out), log)
    if found.interrupted:
        return EXIT_CODES["interrupted"]
    missing = any(one.high is None for one in found.asked)
    wrong = any(finding.severity == "error" for finding in found.findings)
    return EXIT_CODES["fail" if wrong else "inconclusive" if missing else "pass"]


def _curve_documents(measured: CurveRecord) -> Documents:
    from auditor.report.curve_record import to_csv, to_json
    from auditor.report.figure import figure

    return {
        "--json": partial(to_json, measured),
        "--csv": partial(to_csv, measured),
        "--svg": partial(figure, measured),
    }


def _curve_code(measured: CurveRecord) -> int:
    kinds = {finding.kind for finding in measured.findings}
    if measured.interrupted:
        return EXIT_CODES["interrupted"]
    return EXIT_CODES["error" if "raised" in kinds else "fail" if "above-promise" in kinds else "pass"]
