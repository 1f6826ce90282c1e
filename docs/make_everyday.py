"""Makes the table of docs/everyday.md: `python docs/make_everyday.py`, from the root.

What reproducibility costs is measured by `auditor price`, some minutes in all; `--only NAME` measures that row anew and
leaves the others as they are.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import auditor
from algorithms.everyday import LATER, mean_heavy, mean_vector
from algorithms.least_rows import least_rows
from auditor.questions.price.answer import PriceAnswer, answer_of, size_text
from auditor.questions.several import with_theorem
from auditor.sources.source import load_source
from auditor.subjects.subject import Subject, load_subject

PAGE = Path(__file__).parent / "everyday.md"
PAIRS = 31_000
# With few rows these tests never reject, and rare values are not seen: more rows hurt first, and no bracket would hold.
SHY = (
    *("r_z_test", "r_t_test", "r_chi_square_test", "r_uniformity_by_distance"),
    *("r_mean_vector_heavy", "r_mean_vector_clipped"),
)
BEGIN, END = "<!-- costs, made by docs/make_everyday.py -->\n", "<!-- end of costs -->\n"
HEAD = (
    "| subject | task | rho | plain | measured | exact, hard source | proved | no algorithm below |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def of_quantile() -> int:
    from algorithms.everyday.quantile import measured_size, r_quantile

    at = defaults(r_quantile)
    law = as_thin_as_allowed(at["density"])
    return measured_size(law, at["p"], at["eps"], at["rho"], at["delta"], at["step"])


def of_conformal() -> int:
    from algorithms.everyday.conformal import measured_size, r_conformal

    at = defaults(r_conformal)
    law = as_thin_as_allowed(at["density"])
    return measured_size(law, at["a"], at["rho"], at["delta"], at["width"], at["slack"])


def as_thin_as_allowed(density: float) -> Any:
    """The law of whole numbers whose density is what is asked for and no more."""
    return load_source(f"randint(0, {round(1 / density)})").law()


def of_choice() -> int:
    from algorithms.everyday.choice import r_choice, strength
    from algorithms.everyday.choice_laws import rho_of_bits

    at = defaults(r_choice)
    beta, k = strength(at["tau"], at["rho"], at["delta"], at["candidates"]), at["candidates"]
    return least_rows(lambda n: rho_of_bits(n, beta, k) <= at["rho"])


def of_erm() -> int:
    from algorithms.everyday.choice_laws import rho_of_opposites
    from algorithms.everyday.erm import r_erm, strength

    at = {name: value for name, value in defaults(r_erm).items() if name != "sample_scale"}
    beta = strength(**at)
    return least_rows(lambda n: rho_of_opposites(n, beta, odds=33 / 32) <= at["rho"])


def of_realisable() -> int:
    from algorithms.everyday.choice_laws import rho_of_rare
    from algorithms.everyday.erm import r_erm_realisable, strength

    at = {name: value for name, value in defaults(r_erm_realisable).items() if name != "sample_scale"}
    beta, others = strength(**at), 63
    return least_rows(lambda n: rho_of_rare(n, beta, math.log(others) / beta, others) <= at["rho"])


def of_one_value() -> int:
    from algorithms.everyday.single_heavy_hitter import STAIRS, r_single_heavy_hitter, rho_of_stairs

    at, law = defaults(r_single_heavy_hitter), load_source(STAIRS).law()
    masses = dict(zip(law.values.tolist(), law.weights.tolist(), strict=True))
    return least_rows(lambda n: rho_of_stairs(n, at["v"], masses) <= at["rho"])


def of_bandit() -> int:
    from algorithms.everyday.bandit import r_bandit, threshold_range
    from algorithms.everyday.bandit_exact import commits, exact

    at = {name: value for name, value in defaults(r_bandit).items() if name in ("arms", "tau", "rho", "delta")}
    width = threshold_range(**at)
    pulls = least_rows(lambda m: exact(commits(m, width), 0.5, 0.5, 2 * m).rho <= at["rho"])
    return int(at["arms"]) * pulls


def defaults(fn: Callable[..., object]) -> dict[str, Any]:
    return dict(load_subject(fn).settings)


def of_mean(measured: Callable[..., int], fn: Callable[..., object]) -> int:
    return measured(**{name: value for name, value in defaults(fn).items() if name not in ("sample_scale", "centre")})


# The least rows at which the exact rho is as claimed, on the hardest source whose law is known.
EXACT: dict[str, Callable[[], int]] = {
    "r_mean_vector": lambda: of_mean(mean_vector.measured_size, mean_vector.r_mean_vector),
    "r_mean_vector_heavy": lambda: of_mean(mean_heavy.measured_size, mean_heavy.r_mean_vector_heavy),
    "r_mean_vector_clipped": lambda: of_mean(mean_heavy.clipped_measured_size, mean_heavy.r_mean_vector_clipped),
    "r_quantile": of_quantile,
    "r_conformal": of_conformal,
    "r_choice": of_choice,
    "r_erm": of_erm,
    "r_erm_realisable": of_realisable,
    "r_single_heavy_hitter": of_one_value,
    "r_bandit": of_bandit,
}


def rows_of(page: str) -> str:
    """Return the rows of the table, without its head."""
    return page.partition(BEGIN)[2].partition(END)[0].removeprefix(HEAD)


def with_rows(page: str, rows: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + HEAD + rows + END + rest.partition(END)[2]


def claims() -> dict[str, Subject]:
    """The subjects that carry a claim about rho of this room, by name."""
    names = {statement.name for statement in LATER}
    chosen = [one for one in with_theorem() if one.declared.theorem in names and one.declares("claimed") is not None]
    return {one.name.partition(":")[2]: one for one in chosen}


def both(answer: PriceAnswer) -> tuple[int | None, int | None]:
    """The bracket of sizes that are enough for all claims: rho, and how many runs may be inaccurate."""
    lows = [one.low for one in answer.asked if one.low is not None]
    highs = [one.high for one in answer.asked if one.high is not None]
    return max(lows, default=None), max(highs) if len(highs) == len(answer.asked) else None


def cost(name: str, subject: Subject) -> str:
    """A row: what the claim costs at the declared source, beside what was proved of it."""
    answer = answer_of(auditor.ask("price", name, pairs=PAIRS))
    rho = next(one for one in answer.asked if one.claim == "reproducible")
    cells = (
        f"`{name}`",
        str(subject.declared.theorem),
        f"{rho.limit:g}",
        "-" if answer.plain is None else f"{answer.plain:,}",
        "-" if name in SHY else size_text(*both(answer)),
        f"{EXACT[name]():,}" if name in EXACT else "-",
        "-" if answer.promised is None else f"{answer.promised:,}",
        ", ".join(f"{size:,} ({which})" for which, size in answer.bounds.items()) or "-",
    )
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="measure this subject alone")
    given = parser.parse_args()
    page = PAGE.read_text()
    rows = {name: line for line, name in re.findall(r"^(\| `(\w+)` .*\n)", rows_of(page), re.M)}
    known = claims()
    for name in [given.only] if given.only else known:
        rows[name] = cost(name, known[name])
        print(rows[name], end="", flush=True)
        PAGE.write_text(with_rows(page, "".join(rows[one] for one in known if one in rows)))


if __name__ == "__main__":
    main()
