"""Bad values of every option, and options that do not go together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import rich_click as click
from bad import CHECK, Bad, each
from fault import FAULT, PASSES, USAGE

from auditor.cli.command_line import cli

_NEVER = ("", " ", "x", "\x00", "\udc80", "[/b]", "[]", "1 0")
_NUMBER = (*_NEVER, "1,5", "0x10", "½", "1e", "--1", "nan", "inf", "-inf", "1e400", "-1")
_PROBABILITY = (*_NUMBER, "0", "1", "1.5", "-0.5", "1e-400")
_COUNT = (*_NEVER, "1.5", "nan", "inf", "-1", "1e31", "1e400", "1e999999999", "0x10", "²", "-1e5")
_WORD = ("", " ", "nope", "\x00", "\udc80", "[/b]", "a" * 300, "--")
_FOLDER = "folder"
_LONG = "n" * 300
_UNWRITABLE = ("", ".", _FOLDER, f"{_FOLDER}/", "missing/x", "mine.py/x", _LONG, "\x00", "fifo", "/proc/nothing")

_VALUES = {
    **dict.fromkeys(("--rho", "--confidence"), _PROBABILITY),
    **dict.fromkeys(("--atol", "--rtol"), (*_NUMBER, "1e999")),
    **dict.fromkeys(("--size", "--seed"), _COUNT),
    **dict.fromkeys(("--pairs", "--fixed", "--jobs"), (*_COUNT, "0")),
    **dict.fromkeys(("--sample", "--measure", "--resample", "--randomness", "--on-error"), _WORD),
    "--timeout": (*_NUMBER, "0", "1e9"),
    "--memory": (*_NEVER, "-1", "0", "lots", "2X", "1e400", "nan", "1K", "G", "2GG"),
    "--cluster": (*_NEVER, "nope", "local:", "local:0", "local:-1", "local:x", "http://x", "tls://127.0.0.1:9"),
    "--replay": _COUNT,
    "--private": _WORD,
    "--param": ("", " ", "x", "=", "=1", "k", "nothing=1", "\x00", "k2=[", "[/b]=1"),
}
_QUESTIONS = {
    ("--nu", "0.1", "--eta"): _PROBABILITY,
    ("--eta", "0.1", "--nu"): _PROBABILITY,
    ("--eta", "0.1", "--nu", "0.1", "--beta"): _PROBABILITY,
    ("--eta", "0.1", "--nu", "0.1", "--runs"): (*_COUNT, "0", "1"),
    ("--eta", "0.1", "--nu", "0.1", "--strings"): (*_COUNT, "0"),
    ("--eta", "0.1", "--list-size"): (*_COUNT, "0"),
    ("--list-size", "2", "--eta"): _PROBABILITY,
    ("--list-size", "2", "--eta", "0.1", "--runs"): (*_COUNT, "0", "5"),
    ("--loss", "mine:loss", "--delta"): _PROBABILITY,
    ("--loss",): ("", " ", "x", "mine:", "mine:nothing", "mine:NOT", "nowhere:fn", "\x00", "[/b]:fn"),
    ("--inputs", "[1, 2]", "--replay", "0", "--cell"): (*_COUNT, "2"),
    ("--probe",): ("", "x", "\x00", "-1", "0", "missing.csv", _FOLDER, "fifo.csv", "1e31", "[/b]"),
}
_FILES = ("--json", "--junit", "--markdown")


def _without(option: str) -> tuple[str, ...]:
    """A good command, but for an option that is to be given: twice it would be refused for that."""
    at = CHECK.index(option) if option == "--size" else len(CHECK)
    return (*CHECK[:at], *CHECK[at + 2 :])


def _of_check() -> Iterator[Bad]:
    for option, values in _VALUES.items():
        yield from each("options", (*_without(option), option), values)
    for words, values in _QUESTIONS.items():
        subject = ("check", "mine:model", *CHECK[2:]) if words == ("--probe",) else CHECK
        subject = ("check", "mine:has_x", *CHECK[2:]) if "--inputs" in words else subject
        yield from each("options", (*subject, *words), values)
    for option in _FILES:
        yield from each("reports", (*CHECK, option), _UNWRITABLE)
    yield from each("reports", (*CHECK, "--eta", "0.1", "--nu", "0.1", "--svg"), _UNWRITABLE)


_CURVE = ("curve", "mine:has_k", "--source", "mine:rows")
_CHOOSE = ("choose", "mine:has_k", "--source", "mine:rows", "--size", "5")
_PRICE = ("price", "mine:fine", "--source", "mine:rows")
_REUSE = ("reuse", "mine:answer", "--source", "mine:rows", "--size", "5")
_VARY = (
    *(
        "",
        " ",
        "x",
        "size",
        "size=",
        "size=5",
        "size=5,5",
        "=1,2",
        "1=1,2",
        "size=x,y",
        "size=-5,-6",
        "\x00",
        "[/b]=1,2",
    ),
    *("size=a:b:log3", "size=1:2:log1", "size=1:9:log99999", "size=2:1:log3", "size=-1:1:log3", "size=nan:1:lin3"),
    *("size=inf,1", "size=1:2", "size=1:2:cub3", "nothing=1,2", "size=1e400,2", "size=1:1e400:lin3", "size=1:2:lin0"),
    *("size=1:2:log" + "9" * 5000, "size=" + "[" * 9999, "size=" + "-" * 99999 + "1,2", "size=1j,2", "size=True,2"),
    *("k=" + "-" * 99999 + "1,2", "k=" + "[" * 99999 + ",2", "size={[]},{{}}"),
)


def _of_others() -> Iterator[Bad]:
    yield from each("options", (*_CURVE, "--vary"), _VARY)
    for option, values in (("--confidence", _PROBABILITY), ("--pairs", (*_COUNT, "0")), ("--seed", _COUNT)):
        yield from each("options", (*_CURVE, "--vary", "size=5,6", option), values)
        yield from each("options", (*_PRICE, option), values)
    yield from each("options", (*_CURVE, "--vary", "k=1,2", "--size"), _COUNT)
    yield from each("options", (*_CHOOSE, "--vary"), _VARY)
    for option, values in (("--score-within", (*_NUMBER, "0")), ("--margin", _PROBABILITY), ("--measure", _WORD)):
        yield from each("options", (*_CHOOSE, "--vary", "k=1,2", option), values)
    yield from each("options", (*_CHOOSE, "--settings"), (*_UNWRITABLE, "mine.py"))
    yield from each("options", (*_PRICE, "--rho"), _PROBABILITY)
    for option in ("--json", "--csv", "--svg"):
        yield from each("reports", (*_CURVE, "--vary", "size=5,6", option), _UNWRITABLE)
    yield from each("reports", (*_PRICE, "--json"), _UNWRITABLE)
    analysts = ("", "x", "mine:", "mine:nothing", "mine:NOT", "nowhere:fn", "\x00", "[/b]:fn")
    yield from each("options", (*_REUSE, "--queries", "3", "--analyst"), analysts)
    asked = (*_REUSE, "--analyst", "mine:analyst", "--queries")
    yield from each("options", asked, (*_COUNT, "0"))
    for option, values in (("--rho", _PROBABILITY), ("--fixed", (*_COUNT, "0")), ("--confidence", _PROBABILITY)):
        yield from each("options", (*asked, "3", option), values)
    for option, values in (("--rho", _PROBABILITY), ("--confidence", _PROBABILITY), ("--pairs", (*_COUNT, "0"))):
        yield from each("options", ("plan", option), values)
    yield from each("options", ("theorems", "--reports", "folder", "--only"), ("nothing of the kind", "\x00", "[/b]"))
    yield from each(
        "reports", ("theorems", "--only", "2.3", "--reports"), ("mine.py", "mine.py/x", _LONG, "\x00", "fifo")
    )
    yield Bad("options", ("plan", "--pairs", "1e6"), (PASSES,), ci=False)  # test_command_line has one
    yield Bad("options", ("plan", "--rho", "1e-6", "--pairs", "1e7"), (PASSES, USAGE))
    yield Bad("options", ("plan", "--pairs", "1e29"), (PASSES, USAGE))


_TOGETHER = """
--pairs 99 --fixed 99
--resume
--replay 0 --json x.json
--replay 0 --jobs 2
--cluster local:2 --jobs 2
--eta 0.1
--nu 0.1
--beta 0.1
--runs 5
--strings 9
--delta 0.1
--cell 0
--loss mine:loss --eta 0.1 --nu 0.1
--eta 0.1 --nu 0.1 --pairs 99
--eta 0.1 --nu 0.1 --rho 0.1
--list-size 2
--list-size 2 --nu 0.1
--list-size 2 --eta 0.1 --nu 0.1
--list-size 2 --eta 0.1 --pairs 99
--list-size 2 --eta 0.1 --rho 0.1
--list-size 2 --eta 0.1 --strings 9
--list-size 2 --eta 0.1 --measure churn
--list-size 2 --eta 0.1 --loss mine:loss
--list-size 2 --eta 0.1 --atol 0.1
--list-size 2 --eta 0.1 --runs 99 --fixed 99
--list-size 2 --eta 1e-300
--list-size 1e29 --eta 0.1
--list-size 2 --eta 0.1 --replay 0 --cell 1
--resample split
--resample bootstrap
--measure churn
--sample counts
--private shared
--private both
--inputs [1,2]
--inputs [1,2] --replay 0
--json x --junit x
--json x --markdown ./x
--junit - --json -
--view predict
--view attr(x) --measure churn
--memory 1G --cluster nope
--nothing
-z
--size
--json
--size 5 extra
--source norm --source nope
--rho 1e-300
--confidence 0.9999999999999999
--pairs 5
--fixed 5
--seed 5 --seed x
--seed 5 --seed 5
--view sign --view round(1)
--atol 0.1 --eta 0.1 --nu 0.1
--rtol 0.1 --view argmax
--replay 0 --ledger x
--timeout 5 --inputs [1]
--size 1e20
--size 1e29
--replay 0 --cell 1
--replay 0 --cell 0 --json x.json
--loss mine:loss --replay 0 --cell 1
--loss mine:loss --source nope
--source norm --source nope --eta 0.1 --nu 0.1
--eta 0.1 --nu 0.1 --replay 0 --cell 1
""".strip().splitlines()
_CARRIED_OUT = """
--replay 0 --cell 0
--loss mine:loss --replay 0
--loss mine:loss --source norm
--eta 0.1 --nu 0.1 --replay 0
--list-size 2 --eta 0.1 --replay 0
--source norm --source norm --loss mine:loss
""".strip().splitlines()
_WRONG = """
chek
check
check -
gate extra
plan extra
list extra
list --nothing
history
replay
replay x.json
curve mine:fine
reuse mine:answer
reuse mine:answer --analyst mine:analyst
price
theorems extra
--nothing
-x
check mine:fine mine:fine
check mine:fine --source mine:rows
check mine:fine --size 5
check mine
check mine --size 5
check json
check json --jobs 2
check mine:fine --help=3
gate --config
plan --rho
replay x.json --pair
choose
choose mine:has_k --source mine:rows --size 5
choose mine:has_k --vary k=1,2 --source mine:rows --size 5
choose mine:has_k --vary k=1,2 --vary k=3 --source mine:rows --size 5
curve mine:has_k --vary k=1,2 --param k=3 --source mine:rows --size 5
curve mine:fine --vary size=5,6
curve mine:has_k --vary size=5,6 --size 5 --source mine:rows
curve mine:fine --vary p=1,2 --source norm --size 5
price mine:fine
price mine:fine --source nope
price constant --sample heap
history mine:fine --ledger
""".strip().splitlines()


def _combined() -> Iterator[Bad]:
    for text in _TOGETHER:
        codes = (USAGE, FAULT) if "view" in text or "seed 5" in text or "private" in text else (USAGE,)
        yield Bad("combinations", (*_without(text.split(" ")[0]), *text.split(" ")), codes)
    for text in _CARRIED_OUT:
        yield Bad("combinations", (*CHECK, *text.split(" ")), (PASSES,))
    for text in _WRONG:
        yield Bad("combinations", tuple(text.split(" ")))
    yield Bad("combinations", (*CHECK, "--param", "x=" + "[" * 99999), (USAGE,))
    has_k = ("check", "mine:has_k", *CHECK[2:], "--rho", "0.5", "--param")
    yield from each("combinations", has_k, (f"k={deep}" for deep in ("[" * 99999, "-" * 99999 + "1", "{" * 500)))
    texts = ("(" * 50 + ")" * 50, "9" * 9999, "1e999", "\x00", "'", "{[]: 1}", "not " * 9999 + "1")
    yield from each("combinations", has_k, (f"k={text}" for text in texts), PASSES, USAGE)


_NEEDED = {
    "check": ("mine:fine",),
    "choose": ("mine:has_k", "--vary", "k=1,2"),
    "curve": ("mine:has_k", "--vary", "size=5,6"),
    "estimate": ("mine:fine",),
    "price": ("mine:fine",),
    "reuse": ("mine:answer", "--analyst", "mine:analyst", "--queries", "3"),
    "replay": ("good.json", "--pair", "0"),
    "history": ("mine:fine",),
}


def _empty() -> Iterator[Bad]:
    """Every option of every command, given and empty: a shell's variable that was not set. A sixth of each always."""
    context = click.Context(cli, **cli.context_settings)
    for number, name in enumerate(cli.list_commands(context)):
        command = cli.get_command(context, name)
        assert command is not None
        options = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.is_flag]
        for i, option in enumerate(options):
            words = (name, *_NEEDED.get(name, ()), option.opts[0], "")
            yield Bad("empty", words, ci=i % 6 == number % 6 or len(options) < 6)


_EVERY = {"options": 6, "reports": 3}


def _thinned(bads: Iterator[Bad]) -> Iterator[Bad]:
    """Of the values of one option every sixth is tried always, of the next one others; of reports every third place."""
    for number, ((kind, _), same) in enumerate(groupby(bads, lambda bad: (bad.kind, bad.words[:-1]))):
        values = [*same]
        step = min(_EVERY[kind], len(values))
        yield from (replace(bad, ci=bad.ci and i % step == number % step) for i, bad in enumerate(values))


BAD_OPTIONS = (*_thinned(_of_check()), *_thinned(_of_others()), *_combined(), *_empty())
