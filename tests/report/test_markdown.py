"""Markdown of a report, to the letter: what each part becomes, and which of several records are told in full."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace
from support.requests import audit

from auditor.flow.parts import Bar, Chart, Command, Facts, Listing, Part, Series, Table, Words
from auditor.flow.record import Record
from auditor.report.formats.markdown import markdown, markdown_of


def rows(rng: Any, size: int) -> Any:
    return rng.random(size)


@cache
def passed() -> Record:
    return audit(lambda sample, r: 0, rows, size=1)


@cache
def failed() -> Record:
    return audit(lambda sample, r: float(sample[0]), rows, size=1)


def named(record: Record, name: str, expect: str = "pass", **changes: Any) -> Record:
    return replace(record, subject=name, expect=expect, **changes)


LONG = "x" * 4001
PARTS: list[tuple[Part, list[str]]] = [
    (Words("Plain words, and no more."), ["Plain words, and no more."]),
    (Words("\nlines around it\n"), ["lines around it"]),
    (Words("<b>bold</b>"), ["`<b>bold</b>`"]),
    (Words("two\nlines"), ["```text\ntwo\nlines\n```"]),
    (Words(LONG), [f"{LONG[:4000]}... (4,001 characters)"]),
    (Table(("a", "b"), [("1", "x|y"), ("", "<i>")]), ["| a | b |\n| --- | --- |\n| 1 | `x\\|y` |\n|  | `<i>` |"]),
    (Table(("a",), [("1",)], title="A title:"), ["A title:", "| a |\n| --- |\n| 1 |"]),
    (Table(("*a*",), [("1.5",)], title="<t>:"), ["`<t>`:", "| `*a*` |\n| --- |\n| 1.5 |"]),
    (Listing("outputs:", ["1", "2"]), ["outputs:", "```text\n1\n2\n```"]),
    (Listing("they differ at", ["1"], at="a|b"), ["they differ at `a|b`:", "```text\n1\n```"]),
    (Listing("", ["1"]), ["```text\n1\n```"]),
    (Listing("raised", ["Traceback"], style="error"), ["```text\nTraceback\n```"]),
    (Listing("noticed", ["on the way"], style="warning"), []),
    (Listing("noticed", ["on the way"], style="info"), []),
    (Listing("outputs:", [LONG]), ["outputs:", f"```text\n{LONG[:4000]}... (4,001 characters)\n```"]),
    (Command("replay it with:", "auditor check x"), ["Replay it with:", "```sh\nauditor check x\n```"]),
    (Command("replay it with:", "y" * 4000), ["Replay it with:", f"```sh\n{'y' * 4000}\n```"]),
    (Command("replay it with:", "y" * 4001), []),
]  # fmt: skip


@pytest.mark.parametrize(("part", "expected"), PARTS)
def test_each_part_is_a_block(part: Part, expected: list[str]) -> None:
    assert [*markdown_of([part])] == expected


def test_facts_and_targets_make_one_table_where_they_stand() -> None:
    """Before what comes after them, and again for those after that."""
    bar = Bar(low=0.0, high=0.08, centre=0.02, target=0.1, verdict="pass")
    sample = ("sample", "5 rows from ", "norm|x", ", seed 0")
    parts = [bar, Facts([("rho", "at most 0.08"), sample]), Words("Then."), Facts([("last", "<x>")])]
    assert [*markdown_of(parts)] == [
        "|  |  |\n| --- | --- |\n| target | 0.1 |\n| rho | at most 0.08 |\n| sample | 5 rows from `norm\\|x`, seed 0 |",
        "Then.",
        "|  |  |\n| --- | --- |\n| last | `<x>` |",
    ]


@pytest.mark.parametrize(
    ("texts", "cell"),
    [
        (("only ours",), "only ours"),
        (("*only* ours",), "`*only* ours`"),
        (("from ", "theirs"), "from `theirs`"),
        (("from ", "the*irs*", " and more"), "from `the*irs*` and more"),
        (("from [", "theirs", "] and"), "`from [theirs] and`"),
        (("", "theirs"), "`theirs`"),
        (("from ", "t" * 301), f"from `{'t' * 300}... (301 characters)`"),
    ],
)
def test_our_own_words_are_prose_and_those_of_others_code(texts: tuple[str, ...], cell: str) -> None:
    assert [*markdown_of([Facts([("name", *texts)])])] == [f"|  |  |\n| --- | --- |\n| name | {cell} |"]


def test_a_chart_has_its_legend_below_it() -> None:
    points = [(0.0, 0.1, 0.2, 0.3), (1.0, 0.2, 0.3, 0.4)]
    chart = Chart("title", "x", "y", [Series("measured", "band", points), Series("held against", "line", points)])
    (block,) = markdown_of([chart])
    assert block.startswith("```text\n")
    assert block.endswith("\n  a held against\n```")
    assert max(map(len, block.splitlines())) <= 80
    assert [*markdown_of([Chart("title", "x", "y", [])])] == []


def test_of_several_each_is_a_row_and_only_surprises_are_told() -> None:
    """One of each kind: as expected, a fail that was expected, a fail that was not, a pass where a fail was."""
    records = [
        named(passed(), "a:good"),
        named(failed(), "b:known", "fail"),
        named(failed(), "c:broken"),
        named(passed(), "d:too|good", "fail"),
    ]
    head, table, together, *sections = markdown(records, 0.9).split("\n\n")
    assert head == "### auditor: 2 of 4 as expected"
    lines = [[cell.strip() for cell in line.replace("\\|", "!").split("|")[1:-1]] for line in table.splitlines()]
    assert lines[0] == ["", "subject", "verdict", "expected", "target", "rho", "pairs", "seconds"]
    assert lines[1] == ["---"] * 8
    assert [line[:4] for line in lines[2:]] == [
        ["ok", "`a:good`", "pass", "pass"],
        ["ok", "`b:known`", "fail", "fail"],
        ["**NO**", "`c:broken`", "fail", "pass"],
        ["**NO**", "`d:too!good`", "pass", "fail"],
    ]
    assert [line[6] for line in lines[2:]] == [str(record.pairs) for record in records]
    assert together.startswith("All verdicts are right together with 90 % confidence. The intervals are another")
    titles = [part for part in sections if part.startswith("####")]
    assert titles == ["#### FAIL `c:broken`", "#### PASS, EXPECTED FAIL `d:too|good`"]
    assert failed().reason in "\n".join(sections)


@pytest.mark.parametrize(("count", "more"), [(20, None), (21, "1 more did not end as expected."), (23, "3 more did")])
def test_twenty_surprises_are_told_in_full_and_the_others_counted(count: int, more: str | None) -> None:
    text = markdown([named(failed(), f"m:f{i}") for i in range(count)], 0.95)
    assert text.startswith(f"### auditor: 0 of {count} as expected\n")
    assert text.count("\n#### FAIL") == 20
    assert "`m:f19`" in text.split("####")[-1]
    assert text.endswith("\n")
    last = text.rstrip("\n").split("\n\n")[-1]
    assert last.startswith(more) if more else "did not end as expected" not in last


@pytest.mark.parametrize(
    ("record", "expect", "title"),
    [
        (passed, "pass", "### PASS `m:f`"),
        (failed, "pass", "### FAIL `m:f`"),
        (failed, "fail", "### FAIL AS EXPECTED `m:f`"),
        (passed, "fail", "### PASS, EXPECTED FAIL `m:f`"),
        (passed, "no worse", "### PASS, NOT SHOWN TO BE WORSE `m:f`"),
        (failed, "no worse", "### FAIL, EXPECTED NO WORSE `m:f`"),
    ],
)
def test_the_title_of_one_says_what_was_expected(record: Any, expect: str, title: str) -> None:
    text = markdown([named(record(), "m:f", expect)], 0.95)
    assert text.split("\n")[0] == title
    assert text.split("\n\n")[1] in (record().reason, f"`{record().reason}`")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_a_long_name_is_cut_and_a_short_one_is_not() -> None:
    for length, shown in ((300, "n" * 300), (301, "n" * 300 + "... (301 characters)")):
        assert markdown([named(passed(), "n" * length)], 0.95).split("\n")[0] == f"### PASS `{shown}`"


def test_what_is_better_than_its_baseline_is_offered_whether_or_not_it_was_expected() -> None:
    shown = {"shown": "no worse", "is_better": True, "is_reached": False, "wanted": 0.1, "margin": 0.05}
    held = {"baseline": {"pairs": 100, "mismatches": 30, "low": 0.2, "high": 0.4, "confidence": 0.975, **shown}}
    records = [named(passed(), "a:calmer", "no worse", answer=held), named(failed(), "b:other", answer=held)]
    text = markdown(records, 0.95)
    assert "`a:calmer`: rho fell from about 0.3 to about 0: gate --update-baseline writes it" in text
    assert text.count("gate --update-baseline writes it") == 1, "one that failed offers nothing"
