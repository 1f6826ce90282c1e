"""Makes the files beside it: `python examples/data/make_data.py`. They are made up, and small.

visits.csv: 300 visitors of a shop, who saw version a or b of a page, and what each of them spent. What they spend is
exponential, with a mean of 20 for a and of 24 for b: a t test at 0.05 finds that in about half of such files.
scores.csv: 500 questions, and whether each of five models answered them rightly. Questions differ in how hard they are,
and the models in skill; the two best are half a point apart.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def visits() -> str:
    rng = np.random.Generator(np.random.PCG64(2026))
    versions = rng.permutation(np.repeat(["a", "b"], 150))
    spent = rng.exponential(np.where(versions == "b", 24.0, 20.0))
    return "version,spent\n" + "".join(
        f"{version},{amount:.2f}\n" for version, amount in zip(versions, spent, strict=True)
    )


def scores() -> str:
    rng = np.random.Generator(np.random.PCG64(2027))
    skill = {"ash": 0.62, "birch": 0.615, "cedar": 0.57, "elm": 0.5, "fir": 0.4}
    easy = rng.normal(0.0, 0.2, size=500)
    right = {name: rng.random(500) < np.clip(level + easy, 0.0, 1.0) for name, level in skill.items()}
    lines = (",".join([f"q{i}", *(f"{answers[i]:d}" for answers in right.values())]) for i in range(500))
    return "\n".join([",".join(["question", *skill]), *lines, ""])


FILES = {"visits.csv": visits, "scores.csv": scores}


def main() -> None:
    for name, make in FILES.items():
        (HERE / name).write_text(make())


if __name__ == "__main__":
    main()
