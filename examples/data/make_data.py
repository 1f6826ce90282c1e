"""Makes the files beside it: `python examples/data/make_data.py`. They are made up, and small.

visits.csv: 300 visitors of a shop, who saw version a or b of a page, and what each of them spent. What they spend is
exponential, with a mean of 20 for a and of 24 for b: a t test at 0.05 finds that in about half of such files.
scores.csv: 500 questions, and whether each of five models answered them rightly. Questions differ in how hard they are,
and the models in skill; the two best are half a point apart.
judged.csv: 80 answers of three chat models, each scored from 1 to 5 by a judge that was asked three times.
customers.csv: 400 customers with eight numbers each, and whether they left. Calls and complaints say nearly the same.
orders.csv: 1,500 orders of 40 customers. Three of them order most; the shares of the others fall slowly.
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


def judged() -> str:
    rng = np.random.Generator(np.random.PCG64(2028))
    quality = {"north": 3.32, "south": 3.25, "west": 2.9}
    hard = rng.normal(0.0, 0.6, size=80)
    lines = []
    for item in range(80):
        for name, level in quality.items():
            answer = level + hard[item] + rng.normal(0.0, 0.5)
            votes = np.clip(np.round(answer + rng.normal(0.0, 0.7, size=3)), 1, 5)
            lines += [f"q{item},{name},{vote:.0f}" for vote in votes]
    return "\n".join(["item,model,score", *lines, ""])


def customers() -> str:
    rng = np.random.Generator(np.random.PCG64(2029))
    names = ("age", "months", "visits", "calls", "complaints", "spent", "discount", "distance")
    columns = rng.normal(size=(400, len(names)))
    columns[:, 4] = 0.8 * columns[:, 3] + 0.6 * columns[:, 4]
    push = 0.5 * columns[:, 3] + 0.4 * columns[:, 4] - 0.5 * columns[:, 1] + 0.35 * columns[:, 7]
    left = rng.random(400) < 1 / (1 + np.exp(1 - push))
    lines = [",".join([*(f"{one:.2f}" for one in row), f"{gone:d}"]) for row, gone in zip(columns, left, strict=True)]
    return "\n".join([",".join([*names, "left"]), *lines, ""])


def orders() -> str:
    rng = np.random.Generator(np.random.PCG64(2030))
    names = np.array([f"c{i:02}" for i in range(1, 41)])
    shares = np.where(np.arange(40) < 3, 2.5, np.exp(-0.06 * np.arange(40)))
    who = rng.choice(names, size=1500, p=shares / shares.sum())
    lines = [f"{name},{amount:.2f}" for name, amount in zip(who, rng.lognormal(3.5, 0.8, size=1500), strict=True)]
    return "\n".join(["customer,amount", *lines, ""])


FILES = {
    "visits.csv": visits,
    "scores.csv": scores,
    "judged.csv": judged,
    "customers.csv": customers,
    "orders.csv": orders,
}


def main() -> None:
    for name, make in FILES.items():
        (HERE / name).write_text(make())


if __name__ == "__main__":
    main()
