"""Makes the files beside it: `python examples/data/make_data.py`. They are made up, and small.

visits.csv: 300 visitors of a shop, who saw version a or b of a page, and what each of them spent. What they spend is
exponential, with a mean of 20 for a and of 24 for b: a t test at 0.05 finds that in about half of such files.
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


FILES = {"visits.csv": visits}


def main() -> None:
    for name, make in FILES.items():
        (HERE / name).write_text(make())


if __name__ == "__main__":
    main()
