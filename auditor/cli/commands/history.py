"""history: what a ledger knows of a subject."""

from __future__ import annotations

from datetime import UTC, datetime

import rich_click as click

from auditor.cli.options import OptionGivenOnce
from auditor.cli.output import error_console, make_console, write
from auditor.errors import BadValue, UsageError
from auditor.files import check_file, check_writable

_RUN_LENGTH = 100.0


@click.command()
@click.argument("target")
@click.option(
    "--ledger",
    cls=OptionGivenOnce,
    metavar="FILE",
    default="audits.sqlite",
    help="File that keeps the audits (default: audits.sqlite).",
)
@click.option(
    "--since",
    cls=OptionGivenOnce,
    metavar="DAY",
    help="Show only audits from this day on, e.g. 2026-11-17 (default: all).",
)
@click.option(
    "--above",
    cls=OptionGivenOnce,
    type=float,
    metavar="R",
    help="Say when rho rose above R, and exit with 1 if it did (default: not asked).",
)
@click.option(
    "--run-length",
    cls=OptionGivenOnce,
    type=float,
    metavar="N",
    help=f"With --above: the average number of audits until a false alarm is at least this (default: {_RUN_LENGTH:g}).",
)
@click.option(
    "--ever",
    cls=OptionGivenOnce,
    type=float,
    metavar="P",
    help="With --above, in place of --run-length: the probability of any false alarm, ever (default: not used).",
)
@click.option(
    "--html", cls=OptionGivenOnce, metavar="FILE", help="Write the history as a web page to FILE; - is standard output."
)
def history(
    target: str,
    ledger: str,
    since: str | None,
    above: float | None,
    run_length: float | None,
    ever: float | None,
    html: str | None,
) -> int:
    """Show every audit of TARGET in a ledger: what was found over time, and of which code. Runs nothing.

    Example: python -m auditor history algorithms.statistical_query:rstat --ledger audits.sqlite --above 0.1
    """
    from auditor.flow.ledger import read_history
    from auditor.flow.record import drawn_from
    from auditor.lookup import full_target
    from auditor.report.history import audits_over_time, counts_pairs, heading, page_over_time, since_when, watched
    from auditor.report.terminal import show_parts

    _check(above, run_length, ever)
    begin = _moment("0001-01-01" if since is None else since)
    check_writable(html, "--html")
    subject = full_target(target, runs=False)
    check_file(ledger, f"cannot read --ledger {ledger}")
    with drawn_from(f"--ledger {ledger}"):
        past = [audit for audit in read_history(ledger, subject) if _moment(audit.started) >= begin]
        if not past:
            which = f" since {since}" if since else ""
            raise UsageError(
                f"--ledger {ledger} has no audit of {subject}{which}: check {subject} --ledger {ledger} makes one"
            )
        if above is not None and not any(counts_pairs(audit) for audit in past):
            raise UsageError(
                f"--ledger {ledger} has no audit of {subject} that counts pairs of one source: see check --rho"
            )
        watch = None if above is None else watched(past, above, run_length=run_length or _RUN_LENGTH, ever=ever)
        if html is not None:
            write(page_over_time(subject, past, watch).encode(), html, "--html")
        out = error_console() if html == "-" else make_console()
        show_parts([*heading(subject, past), *(since_when(watch) if watch else ())], out)
        out.print()
        for part in audits_over_time(past):
            out.print(part)
    return int(bool(watch and watch.alarms))


def _moment(text: str) -> datetime:
    """Return a time; in UTC, as ledgers have it, where it does not say."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadValue("since", text, "must be a day, e.g. 2026-11-17, or a time, 2026-11-17T09:30") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _check(above: float | None, run_length: float | None, ever: float | None) -> None:
    """Raise UsageError for options that do not go together or are out of range."""
    if above is None and (run_length is not None or ever is not None):
        option = "--run-length" if run_length is not None else "--ever"
        raise UsageError(f"{option} goes with --above: which rho is the limit?")
    if run_length is not None and ever is not None:
        raise UsageError("--run-length and --ever are two promises: alarms with restarts, or one alarm; choose one")
    if above is not None and not 0 < above < 1:
        raise BadValue("above", above, "must be in (0, 1): the rho that was to be kept, e.g. 0.1")
    if run_length is not None and not run_length > 1:
        raise BadValue("run-length", run_length, "must be above 1: audits to a false alarm, e.g. 100")
    if ever is not None and not 0 < ever < 1:
        raise BadValue("ever", ever, "must be in (0, 1): how likely a false alarm may be, e.g. 0.01")
