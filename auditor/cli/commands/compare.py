"""compare: an old version and a new one, as two targets, as two records, or of one target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rich_click as click

from auditor.cli.commands.check import ask_one, command_words, options_of
from auditor.cli.options import TableCommand, Typed, read_typed, split_params
from auditor.errors import UsageError


def _compare(targets: Sequence[str], **options: Any) -> int:
    if len(targets) > 2:
        words = f"compare takes OLD and NEW, and {len(targets)} were given"
        raise click.UsageError(words, click.get_current_context())
    old_params = split_params(options.pop("old_param", None) or (), "--old-param")
    typed = read_typed(options)
    *before, new = targets
    if before and _is_record(before[0]) and _is_record(new):
        return _compare_records(before[0], new, typed)
    if before:
        if "old" in typed.given:
            raise UsageError(f"--old {typed.given['old']} and {before[0]} are two old versions: leave one of them out")
        typed.given["old"] = before[0]
    if old_params:
        from auditor.literals import literal_or_text

        typed.given["old_param"] = {name: literal_or_text(text) for name, text in old_params.items()}
    return ask_one("compare", new, typed)


def _is_record(word: str) -> bool:
    """True if a word of the command line is the file of a record, and not a target."""
    return word.endswith(".json") and Path(word).is_file()


def _compare_records(old: str, new: str, typed: Typed) -> int:
    """Compare the counts of two recorded audits, without running anything."""
    from auditor.cli.output import deliver, tell_github
    from auditor.flow.record import drawn_from, read_record
    from auditor.questions.compare.records import compare_records
    from auditor.report.terminal import as_text, show
    from auditor.request import as_flag

    given = {**typed.given}
    margin, confidence = given.pop("margin", 0.05), given.pop("confidence", 0.95)
    words = [*map(as_flag, given), *(["--source"] if typed.sources else []), *(["--param"] if typed.texts else [])]
    if words:
        raise UsageError(f"{' and '.join(words)}: two records run nothing, and take --margin and --confidence alone")
    with drawn_from(old, new):
        record = compare_records(read_record(Path(old)), read_record(Path(new)), margin=margin, confidence=confidence)
        as_text(record)  # what cannot be shown is no comparison
    deliver(
        [record],
        typed.files,
        lambda out: show(record, out, verbose=typed.verbose),
        confidence=confidence,
        single=True,
    )
    tell_github([record], typed.files, confidence)
    return record.exit_code


compare = TableCommand(
    "compare",
    help=command_words("compare", "auditor.questions.compare:Compare"),
    callback=_compare,
    params=[click.RichArgument(["targets"], nargs=-1, required=True, metavar="[OLD] NEW")],
    options=lambda: options_of("compare"),
)
