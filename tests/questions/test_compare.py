"""Two versions on the same pairs, against learners whose rho is known; what the record says, and how it looks."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.requests import ask, audit, inquiry_of

from auditor.errors import UsageError
from auditor.flow.record import read_record
from auditor.questions.compare.answer import answer_of
from auditor.questions.compare.records import compare_records
from auditor.questions.compare.versions import versioned_pair
from auditor.report.terminal import as_text
from auditor.statistics.paired import ShownChange, VersionCounts, difference_limits
from auditor.trials.cell import make_bench
from auditor.values.elements import WATCHED

Command = Callable[..., tuple[int, str, str]]
COIN = "bernoulli(0.5)"


def first_row(sample: Any, r: Any, rows: int = 1) -> tuple[int, ...]:
    """rho = 1 - 2^-rows."""
    return tuple(sample[:rows].tolist())


def sampled(sample: Any, r: Any) -> tuple[Any, ...]:
    return tuple(sample.tolist()), float(r.random())


def steady(sample: Any, r: Any) -> int:
    return 1


def named(sample: Any, r: Any) -> dict[str, int]:
    return {"bit": int(sample[0]), "same": 1}


def calm(sample: Any, r: Any) -> dict[str, int]:
    return {"bit": 0, "same": 1}


def test_worse_better_and_no_difference() -> None:
    worse = ask("compare", first_row, COIN, size=9, old=steady)
    assert (worse.verdict, worse.answer.change, worse.exit_code) == ("fail", "worse", 1)
    better = ask("compare", steady, COIN, size=9, old=first_row)
    assert (better.verdict, better.answer.change, better.exit_code) == ("pass", "better", 0)
    same = ask("compare", first_row, COIN, size=9, old=first_row)
    assert (same.verdict, same.answer.change, same.pairs) == ("pass", "no difference shown", 67)
    assert same.answer.changed.differ == 0
    assert same.answer.discordant.both == same.mismatches == same.answer.old.mismatches


def test_parameters_of_the_old_version_alone() -> None:
    record = ask("compare", first_row, COIN, size=9, params={"rows": 1}, old_param={"rows": 4})
    assert record.answer.change == "better"
    assert record.answer.old.what.endswith("first_row, with rows=4")
    assert record.answer.changed.differ == record.answer.changed.runs, "a tuple of four is none of one"


def test_both_versions_see_the_same_samples_and_r_and_not_those_of_a_check() -> None:
    """Pairs that a check failed on, and that somebody changed the code for, would make it look better."""
    new, old = (make_bench(cell) for cell in inquiry_of(sampled, COIN, "compare", size=40, old=sampled, seed=5).cells)
    check = make_bench(inquiry_of(sampled, COIN, size=40, seed=5).cells[0])
    outputs = [[bench.run(3, which) for which in (0, 1)] for bench in (new, old, check)]
    assert outputs[0] == outputs[1] != outputs[2]


def test_a_ledger_knows_the_margin_and_the_old_version(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"size": 9, "ledger": tmp_path / "kept.sqlite"}
    ask("compare", "algorithms.controls:first_bit", COIN, **asked, old="algorithms.controls:constant")
    for other in ({"old": "algorithms.controls:constant", "margin": 0.1}, {"old": "algorithms.controls:coin_from_r"}):
        with pytest.raises(UsageError, match="but the two differ in "):
            ask("compare", "algorithms.controls:first_bit", COIN, **asked, **other, resume=True)


@pytest.mark.parametrize(
    ("old", "new", "pairs", "is_over"),
    [
        (0, 0, 100, True),
        (2, 0, 100, True),  # too few to lean
        (3, 0, 100, False),
        (3, 1, 100, False),  # three quarters one way
        (1, 3, 100, False),
        (5, 2, 100, True),
        (3, 0, 299, False),
        (3, 0, 300, True),  # three times the pairs that settled the margin
    ],
)
def test_pairs_go_on_after_the_margin_only_where_they_lean(old: int, new: int, pairs: int, is_over: bool) -> None:
    inquiry: Any = inquiry_of(first_row, COIN, "compare", size=9, old=steady)
    inquiry.counts, inquiry.settled = VersionCounts(pairs - old - new, old, new), 100
    assert inquiry.is_over == is_over
    for shown in (ShownChange(better=True, within=True), ShownChange(worse=True, within=True)):
        inquiry.shown = shown
        assert inquiry.is_over, "which way rho went is known"
    inquiry.settled = None
    assert not inquiry.is_over


def test_elements_are_looked_at_in_the_first_pairs_alone() -> None:
    bench = make_bench(inquiry_of(named, COIN, "compare", size=9, old=calm).cells[0])
    last, after = (versioned_pair(bench, index, {}).payload["elements"] for index in (WATCHED - 1, WATCHED))
    assert last is not None
    assert after is None


def test_what_changed_in_what_wobbles_and_how_it_looks() -> None:
    record = ask("compare", named, COIN, size=9, old=calm)
    elements = record.answer.elements  # every one is counted, and not the worst of each version alone
    assert [(one.name, one.old) for one in elements] == [("['bit']", 0)]
    assert elements[0].new == record.mismatches
    text = as_text(record, width=60, verbose=True)
    assert text.startswith("WORSE  ")
    assert "Elements that differ more or less often than before" in text
    assert "% of answers" in text
    assert "wrong with probability" in text
    assert max(len(line) for line in text.splitlines()[:8]) <= 60


def test_reports_and_replays(command: Command, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("def fit(sample, r):\n    return '<b>steady</b>'\n")
    (tmp_path / "new.py").write_text("def fit(sample, r):\n    return f'<i>{sample[0]}</i>'\n")
    words = ["compare", "old.py:fit", "new.py:fit", "--source", COIN, "--size", "9"]
    files = ["--json", "out.json", "--markdown", "out.md", "--svg", "out.svg"]
    code, out, _ = command(*words, *files, cwd=tmp_path)
    assert code == 1
    assert "WORSE  new.py:fit" in out
    record = read_record(tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["answer"]["question"] == "compare"
    assert answer_of(record).old.what == "old.py:fit"
    assert "<b>" not in (tmp_path / "out.md").read_text().replace("`", "").split("```")[0]
    drawn = ElementTree.fromstring((tmp_path / "out.svg").read_text())
    texts = {"".join(one.itertext()) for one in drawn.iter() if one.tag.endswith("text")}
    assert {"old", "new", "rho"} <= texts
    for cell, expected in ((0, "DIFFERENT  pair"), (1, "SAME  pair")):
        pair = str(record.examples[0].pair)
        code, out, _ = command("replay", "out.json", "--pair", pair, "--cell", str(cell), "--trust", cwd=tmp_path)
        assert (code, out.startswith(expected)) == (0, True), out
        code, out, _ = command(*words, "--replay", pair, "--cell", str(cell), cwd=tmp_path)
        assert (code, out.startswith(expected)) == (0, True), out
    found = answer_of(record).changed
    assert found is not None
    for replay, output, cell in ((found.replay_old, "<b>steady</b>", 1), (found.replay_new, "<i>", 0)):
        assert shlex.split(str(replay))[:4] == ["python", "-m", "auditor", "compare"]
        assert shlex.split(str(replay))[-4:] == ["--old", "old.py:fit", "--cell", str(cell)]
        code, out, _ = command(*shlex.split(str(replay))[3:], cwd=tmp_path)
        assert (code, output in out) == (0, True), "each in its own version"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "compare needs an old version"),
        (["--old", "x.py:f", "--margin", "1"], "--margin 1.0 must be in [0, 1)"),
        (["--old-param", "rows"], "--old-param rows must be NAME=VALUE"),
        (["--old-param", "nope=1"], "has no parameter 'nope'"),
        (["--old", "new.py:fit", "--pairs", "0"], "--pairs 0 must be an integer of at least 1"),
        (["--old", "new.py:fit", "--pairs", "1"], "it takes 67 pairs; use --pairs 67 or more"),
        (["--old", "new.py:fit", "--pairs", "66"], "it takes 67 pairs; use --pairs 67 or more"),
        (["--old", "new.py:fit", "--rho", "0.1"], "No such option '--rho'"),
        (["--against", "HEAD", "--cluster", "local:2"], "use --jobs"),
        (["old.py:fit", "more.py:fit"], "compare takes OLD and NEW, and 3 were given"),
        (["old.py:fit", "--old", "new.py:fit"], "are two old versions"),
    ],
)
def test_every_way_to_say_it_wrongly_is_a_sentence(
    command: Command, tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "new.py").write_text("def fit(sample, r):\n    return 1\n")
    (tmp_path / "old.py").write_text("def fit(sample, r):\n    return 1\n")
    targets = [word for word in words if word.endswith(".py:fit") and words[words.index(word) - 1] != "--old"]
    options = [word for word in words if word not in targets]
    code, _, error = command(
        "compare", *targets, "new.py:fit", *options, "--source", COIN, "--size", "9", cwd=tmp_path, columns=500
    )
    assert code == 2
    assert said in error


# Two records.


def audited(subject: Any, **options: Any) -> Any:
    return audit(subject, COIN, **{"size": 9, "fixed": 200, **options})


def test_two_records_are_compared_by_their_counts() -> None:
    calm_one, wild = audited(steady), audited(first_row)
    worse = compare_records(calm_one, wild)
    assert (worse.verdict, worse.answer.change, worse.answer.method) == ("fail", "worse", "two samples")
    assert (worse.pairs, worse.mismatches) == (200, wild.mismatches)
    assert worse.answer.changed is None
    better = compare_records(wild, calm_one)
    assert (better.verdict, better.answer.change) == ("pass", "better")
    open_ = compare_records(wild, audited(first_row, seed=1))
    assert (open_.exit_code, open_.answer.change) == (3, "no difference shown")
    assert compare_records(calm_one, audited(steady, seed=1), margin=0.1).verdict == "pass"


def test_records_whose_ledgers_have_the_same_pairs_are_paired(tmp_path: Path) -> None:
    """As a comparison of the two on these pairs would count them; without their ledgers, by the counts alone."""
    kept = {"ledger": tmp_path / "audits.sqlite"}
    old, new = audited(first_row, **kept), audited(first_row, params={"rows": 2}, **kept)
    found = compare_records(old, new)
    assert found.answer.method == "paired"
    one = found.answer.discordant
    assert (one.old + one.both, one.new + one.both) == (old.mismatches, new.mismatches)
    assert one.old + one.new + one.both + one.neither == 200
    differ = [record.trials()["differs"] for record in (old, new)]
    assert one.new == sum(now and not was for was, now in zip(*differ, strict=True))
    low, high = difference_limits(VersionCounts(one.neither, one.old, one.new, one.both), 0.95)
    assert (found.answer.difference.low, found.answer.difference.high) == (low, high)
    by_counts = compare_records(audited(first_row), new)
    assert by_counts.answer.method == "two samples"
    assert by_counts.answer.difference.low < low < high < by_counts.answer.difference.high
    assert [one.kind for one in by_counts.findings] == ["unpaired"]
    assert compare_records(audited(first_row, seed=1, **kept), new).answer.method == "two samples"
    longer = msgspec.structs.replace(new, first_budget=100)  # pairs that were added after a look
    assert compare_records(old, longer).answer.method == "two samples"
    same = compare_records(old, audited(first_row, **kept))
    assert (same.verdict, same.answer.discordant.old, same.answer.discordant.new) == ("pass", 0, 0)
    kept["ledger"].unlink()
    assert compare_records(old, new).answer.method == "two samples"


def test_records_of_two_things_are_not_comparable() -> None:
    other = audited(steady, size=10)
    found = compare_records(audited(steady), other)
    assert (found.exit_code, found.answer.change) == (4, "not comparable")
    assert found.reason == "not comparable: the two audits differ in --size: 9 and 10"
    with pytest.raises(UsageError, match="the new record is of compare"):
        compare_records(other, found)
    for design in ("anytime", "fixed"):
        none = msgspec.structs.replace(other, pairs=0, mismatches=0, design=design)
        assert compare_records(none, other).reason == "not comparable: the old record has no pair"


def test_two_records_of_estimate_are_compared_and_others_refused() -> None:
    """Their intervals hold at every number of pairs, and so at that at which an estimate stops."""
    options: dict[str, Any] = {"half_width": 0.2, "seed": 1}
    old, new = (
        ask("estimate", f"algorithms.controls:{name}", COIN, size=9, **options) for name in ("constant", "mean")
    )
    record = compare_records(old, new, margin=0.0)
    assert (record.verdict, record.answer.change) == ("fail", "worse")
    assert (record.answer.old.pairs, record.answer.new.pairs) == (old.pairs, new.pairs)
    churn = msgspec.structs.replace(old, measures=[msgspec.structs.replace(old.measures[0], name="churn")])
    with pytest.raises(UsageError, match="takes two records of check, or two of estimate, that measure rho"):
        compare_records(churn, new)


def test_two_record_files_run_nothing(command: Command, tmp_path: Path) -> None:
    for name, value in (("old", "1"), ("new", "int(sample[0])")):
        (tmp_path / f"{name}.py").write_text(f"def fit(sample, r):\n    return {value}\n")
        command("check", f"{name}.py:fit", "--source", COIN, "--size", "9", "--json", f"{name}.json", cwd=tmp_path)
        (tmp_path / f"{name}.py").unlink()
    code, out, error = command("compare", "old.json", "new.json", "--json", "both.json", "--verbose", cwd=tmp_path)
    assert code == 3, "of audits that stop at once little is known"
    assert "each by an audit of its own" in out
    assert "loading" not in error
    assert read_record(tmp_path / "both.json").question == "compare"
    code, _, error = command("compare", "old.json", "new.json", "--pairs", "9", cwd=tmp_path)
    assert (code, "two records run nothing" in error) == (2, True)


def bits(sample: Any, r: Any, start: int = 0) -> list[int]:
    """Thirty elements, of which twelve differ half of the time."""
    return [int(sample[i]) if start <= i < start + 12 else 0 for i in range(30)]


def test_elements_are_counted_beyond_the_worst_that_a_record_names() -> None:
    record = ask("compare", bits, COIN, size=30, old_param={"start": 1}, margin=0.2)
    counts = {one.name: (one.old, one.new) for one in record.answer.elements}
    assert {*counts} == {"[0]", "[12]"}, "those between differ in the same pairs of both"
    assert counts["[0]"][0] == counts["[12]"][1] == 0
