"""Bad targets, sources, views and lists of inputs."""

from __future__ import annotations

from collections.abc import Iterator

from bad import CHECK, Bad, each
from fault import FAULT, USAGE

_TARGETS = (
    *("", " ", ":", "::", "mine:", ":fine", "mine:nothing", "mine:fine:x", "mine:fine.", "mine:.fine", "mine:fine.x.y"),
    *(
        "mine:NOT",
        "mine:__doc__",
        "mine:needs_k",
        "nowhere:fn",
        "nowhere",
        "mine.nothing:fn",
        "1:2",
        "-",
        ".",
    ),
    *("..", "/", "/:x", "missing.py:fn", "mine.py:nothing", "mine.py:", "folder.py:fn", "fifo.py:fn", "binary.py:fn"),
    *("latin.py:fn", "empty.py:fn", "broken.py:fn", "nul.py:fn", "/dev/zero:fn", "/dev/null:fn", "../mine:fine"),
    *(
        "n" * 300 + ".py:fn",
        "n" * 300 + ":fn",
        "n" * 300,
        "n." * 3000 + "n:fn",
        "mine:" + "n" * 300,
        "mine:" + "a." * 3000,
    ),
    *("\x00:fn", "mine:\x00", "\x00", "\udc80:fn", "mine:\udc80", "[/b]:fn", "mine:[/b]", "[/b]", "\x1b[31m:fn"),
    *("os:getpid", "os:path", "builtins:nothing", "sys:exit", "mine:fine()", "mine:lambda"),
    *("mine fine", "mine\n:fine", "mine:fine\n", "__main__:x", "constnt", "CONSTANT", "algorithms.nothing:x"),
)
_SOURCES = (
    *("", " ", "nosuch", "norm(", "norm)", "norm(x)", "norm(1, 2, 3, 4, 5)", "norm(loc='a')", "norm(nothing=1)"),
    *("norm(scale=-1)", "norm(scale=float('nan'))", "bernoulli(2)", "bernoulli(-1)", "bernoulli('x')"),
    *("bernoulli()", "norm.rvs", "norm()()", "norm[0]", "lambda: 0", "__import__('os')", "norm(*[1])", "norm(**{})"),
    *(
        "norm; x",
        "norm#x",
        "norm\x00",
        "\x00",
        "\udc80",
        "[/b]",
        "[/b]:fn",
        "norm(" + "(" * 300,
        "norm(" + "-" * 99999 + "1)",
    ),
    *(
        "norm(" + "[" * 9999,
        "n" * 99999,
        "binom(-1, 0.5)",
        "binom(5)",
        "poisson(-1)",
        "geom(0)",
        "geom(2)",
        "uniform(0, -1)",
    ),
    *(
        "multivariate_normal([0, 0], [[1, 2], [3, -4]])",
        "rv_discrete",
        "rv_continuous",
        "gaussian_kde",
        "norm(loc=None)",
    ),
    *(
        "pmf()",
        "pmf([])",
        "pmf([0.5])",
        "pmf([-1, 2])",
        "pmf({0: 'a'})",
        "pmf(3)",
        "pmf('ab')",
        "pmf({})",
        "pmf([None])",
    ),
    *(
        "points()",
        "points([])",
        "points([[1]], labels=[1, 2])",
        "points([1, 2], weights=[1])",
        "points(3)",
        "nothing(1)",
    ),
    *("pmf([1e400])", "pmf({0: 1e-400})", "mine:nothing", "mine:NOT", "mine:", ":rows", "mine:rows:x", "nowhere:rows"),
    *("sklearn:", "sklearn:nothing", "sklearn:load_nothing", "sklearn:load_iris(", "sklearn:make_moons(noise='x')"),
    *(
        "sklearn:make_moons(nothing=1)",
        "sklearn:fetch_openml",
        "sklearn:load_iris#x",
        "sklearn:make_moons(n_samples=-5)",
    ),
    *(f"norm({'9' * 900})", f"binom({'9' * 900}, 0.5)", f"pmf([{'9' * 900}])", f"expon(scale={'9' * 900})"),
    *("norm({[]: 1})", "pmf({[]: 1})", "norm(" + "not " * 9999 + "1)", "sklearn:make_moons(noise={{}})"),
    *("sklearn:load_files", "sklearn:make_moons(" + "[" * 9999, "sklearn:[/b]", "sklearn:\x00"),
)
_VIEWS = (
    *("", " ", "x", "round", "round()", "round(x)", "round(-1)", "round(1.5)", "round(True)", "round(3", "round(1)(2)"),
    *(
        "round('a')",
        "round([1])",
        "round(1, 2)",
        "top",
        "top()",
        "top(0)",
        "top(-1)",
        "top(x)",
        "attr",
        "attr()",
        "sign(",
    ),
    *(
        "mine:",
        "mine:nothing",
        "mine:NOT",
        ":see",
        "nowhere:see",
        "\x00",
        "\udc80",
        "[/b]",
        "[/b]:see",
        "a" * 300,
        "OUTPUT",
    ),
    *("round(" + "(" * 300, "round(" + "-" * 99999 + "1)", "round(" + "[" * 99999, "round(" + "9" * 5000 + ")"),
    *("round({{}})", "top(" + "(" * 99999 + ")"),
)
_INPUTS = (
    *(
        "",
        " ",
        "[",
        "[]",
        "()",
        "]",
        "3",
        "x",
        "range()",
        "range(0)",
        "range(1, 2, 0)",
        "range(0, 1000000000)",
        "range(x)",
    ),
    *(
        "range(1e9)",
        "range(1,,2)",
        "missing.txt",
        "folder",
        "fifo.txt",
        "mine:nothing",
        "mine:NOT",
        "mine:fine",
        "x=[]",
    ),
    *("nothing=[1]", "=[1]", "x=", "bad.json", "object.json", "latin.txt", "empty.txt", "empty.json", "deep.json"),
    *(
        "[" * 300,
        "[" * 99999,
        "[" + "-" * 99999 + "1]",
        "[{[]}]",
        "[f()]",
        "[x]",
        "{1: 2}",
        "\x00",
        "[\x00]",
        "[/b]",
        "mine:raises",
    ),
    *("mine:endless", "mine:one", "range(99999999999999999999)", "x=range(3)[0]", "/dev/zero", "zero.txt", "n" * 300),
)
_TARGETS_OF_OTHERS = ("mine:NOT", "nowhere:fn", "\x00:fn", "[/b]:fn", "fifo.py:fn", "", "n" * 300 + ".py:fn")
_OTHERS = (
    ("curve", "--vary", "size=5,6", "--source", "norm"),
    ("price", "--source", "norm"),
    ("reuse", "--analyst", "mine:analyst", "--queries", "3"),
    ("history", "--ledger", "good.sqlite"),
)


def _bad_specs() -> Iterator[Bad]:
    for target in _TARGETS:
        yield Bad("targets", ("check", target, *CHECK[2:]))
    for i, target in enumerate(_TARGETS_OF_OTHERS):
        for j, (command, *words) in enumerate(_OTHERS):
            yield Bad("targets", (command, target, *words), ci=i % len(_OTHERS) == j)
    for source in _SOURCES:
        yield Bad("sources", ("check", "mine:fine", "--source", source, "--size", "5"), (USAGE, FAULT))
    yield from each("views", (*CHECK, "--view"), _VIEWS)
    yield from each("inputs", ("check", "mine:has_x", *CHECK[2:], "--inputs"), _INPUTS)


BAD_SPECS = tuple(_bad_specs())
