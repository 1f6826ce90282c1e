"""check and replay: one subject, or one of its pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from auditor.commands.definitions import (
    answer,
    definition_options,
    first_input,
    make_question,
    take_asked,
    without_sources,
)
from auditor.commands.options import Count, count_or_file, running_options, split_params, take_how
from auditor.commands.several import check_package
from auditor.commands.trust import check_learner, check_sampler, check_trusted, refuse_library
from auditor.errors import EXIT_CODES, BadValue, UsageError
from auditor.outlets import (
    console,
    deliver,
    documents_of,
    error_console,
    plain,
    prints_logged,
    stdout_kept,
    take_files,
    tell_github,
    warn,
)
from auditor.second_server import start_server

if TYPE_CHECKING:
    from auditor.engine import How
    from auditor.setup import Setup


@click.command()
@click.argument("target")
@click.option(
    "--source",
    multiple=True,
    metavar="SPEC",
    help='Where samples come from: "norm", module:fn, data.csv#label; repeated: the worst of them counts.',
)
@click.option("--size", type=Count(), metavar="M", help="Rows a sample; 1e6 is understood.")
@click.option("--sample", metavar="KIND", help="Samples as rows, or as counts over the values of a discrete source.")
@click.option("--rho", type=float, metavar="R", help="The mismatch probability you accept.  [default: claimed, or 0.1]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="How sure the verdict must be.")
@click.option("--pairs", type=Count(), metavar="MAX", help="Stop undecided after so many pairs.  [default: 100 / rho]")
@click.option("--fixed", type=Count(), metavar="N", help="Run exactly N pairs and judge once, instead.")
@click.option("--seed", type=Count(), default=0, show_default=True, help="Root of all randomness.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter of the subject; repeatable.")
@click.option(
    "--view", metavar="SPEC", help="What of the output counts: round(3), sign, argmax, top(5), attr(name), predict."
)
@click.option(
    "--probe", metavar="N|FILE", help="Points that predictions are compared on.  [default: 1000 from the source]"
)
@click.option("--gate", metavar="WHAT", default="rho", show_default=True, help="What the target is for: rho, or churn.")
@click.option("--resample", metavar="HOW", help="How a data set is drawn from: bootstrap, split or subsample.")
@click.option(
    "--accept-overlap", is_flag=True, help="With --resample subsample: a verdict on samples that share rows is wanted."
)
@click.option("--randomness", metavar="KIND", help="What r is: Generator, int, RandomState or Random.")
@definition_options
@click.option("--replay", type=Count(), metavar="I", help="Run pair I again and show both outputs, nothing else.")
@click.option("--json", "json_file", metavar="FILE", help="Write the record here; - is standard output.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML here; - is standard output.")
@click.option("--markdown", "markdown_file", metavar="FILE", help="Write a summary here; - is standard output.")
@running_options
def check(target: str, params: Sequence[str], randomness: str | None, **options: Any) -> int:
    """Audit TARGET: module:fn, path/to/file.py:fn, or a name that "list" shows. Runs its code.

    A package or module audits every subject that it declares, each against its expectation.

    Example: python -m auditor check algorithms.controls:first_bit --source "bernoulli(0.5)" --rho 0.2

    Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 the subject could not be audited, 130 interrupted.
    """
    if options["replay"] is None:
        start_server()  # its imports overlap with ours
    from auditor.lookup import is_package
    from auditor.report.escape import brief
    from auditor.setup import make_setup
    from auditor.subjects import load_subject

    asked = take_asked(options)
    if is_package(target):
        return check_package(
            target, {**options, **without_sources(asked), "param": params or None, "randomness": randomness}
        )
    how, running = take_how(options)
    pair, files = options.pop("replay"), take_files(options)
    options["accept_overlap"] |= pair is not None  # a replay passes no verdict
    if pair is not None and (files or running):
        words = " and ".join([*files, *running])
        raise UsageError(f"{words} and --replay do not go together: a replay makes no record")
    if pair is not None and pair < 0:
        raise BadValue("replay", pair, "must be the number of a pair, 0 or more")
    error_console().print(plain(f"loading {brief(target)}: this runs its code", "dim"))
    with stdout_kept():
        subject = load_subject(target, first_input(asked, options), texts=split_params(params), randomness=randomness)
        options["probe"] = count_or_file(options["probe"])
        question = make_question(subject, options, asked, pair) if asked or subject.private else None
        setup = question.setup if question else make_setup(subject, options.pop("source"), **options)
    if question:
        return answer(question, files, how)
    if pair is not None:
        return _replay(setup, pair)
    return _audit(setup, files, how)


@click.command()
@click.argument("record_file", metavar="RECORD")
@click.option("--pair", type=Count(), required=True, metavar="I", help="Which pair to run again.")
@click.option("--trust", is_flag=True, help="Run what the record names without asking.")
def replay(record_file: str, pair: int, trust: bool) -> int:
    """Run one pair of a recorded audit again and show both outputs. Runs the code that the record names, after asking.

    Example: python -m auditor replay record.json --pair 17 --trust
    """
    from auditor.report.record import read_record
    from auditor.setup import make_setup
    from auditor.sources import Sampler, load_source
    from auditor.subjects import code_hash, load_subject

    record = read_record(Path(record_file))
    if not record.importable:
        raise UsageError(
            f"{record.subject}, its source, view or a parameter lives in no module: replay it in Python, "
            f"auditor.replay(fn, ..., pair={pair})"
        )
    if record.arms:
        raise UsageError(f"{record_file} has {len(record.arms)} arms: run the replay command that each row of them has")
    check_trusted(record, trust=trust)
    texts = {name: str(value) for name, value in record.params.items()}
    randomness = None if record.randomness == "Generator" else record.randomness
    with stdout_kept():
        subject = load_subject(record.subject, texts=texts, randomness=randomness)
        check_learner(subject)
        source = load_source(record.source, record.resample)
    if isinstance(source, Sampler):
        check_sampler(source.fn, record.source)
    if record.code_hash != code_hash(subject.fn):
        warn("the code has changed since this record was made")
    setup = make_setup(
        subject,
        source,
        size=record.size,
        seed=record.seed,
        rho=record.target,
        sample=record.sample_kind,
        view=record.view,
        probe=record.probe,
        resample=record.resample,
        accept_overlap=True,
        private=record.private,
    )
    refuse_library(setup.view.see, record.view, "a view of an output")
    return _replay(setup, pair)


def _audit(setup: Setup, files: dict[str, str], how: How) -> int:
    from auditor.pipeline import run_audit
    from auditor.report.progress import Watching
    from auditor.report.terminal import show

    with prints_logged() as (log, ours), Watching(ours) as watch:
        record = run_audit(setup, watch, replace(how, log=log.file))
    documents = documents_of([record], setup.plan.confidence, single=True)
    deliver(documents, files, lambda out: show(record, out), log)
    tell_github([record], [setup.subject], files, setup.plan.confidence)
    return EXIT_CODES["interrupted" if record.decided_by == "interrupt" else record.verdict]


def _replay(setup: Setup, pair: int) -> int:
    from auditor.pipeline import replay_setup
    from auditor.report.replayed import show_replay

    with stdout_kept():
        replayed = replay_setup(setup, pair)
    show_replay(replayed, console())
    return 0
