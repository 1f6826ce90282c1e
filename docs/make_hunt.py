"""Makes the tables of docs/hunt.md and reports/hunt.md: `python docs/make_hunt.py`, from the root of a checkout with
the extra `learners`. Each row is one command, and what it found is measured here.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from auditor.flow.record import Record, read_record
from auditor.questions.hunting.parts import answer_of
from auditor.statistics.outward import at_least, at_most

ROOT = Path(__file__).parent.parent
IRIS = "sklearn:load_iris"
LEARNERS = {
    "the two best features of iris, outliers": (
        "sklearn.feature_selection:SelectKBest --param k=2 --view support --pairs 512 "
        f'--over "contaminate({IRIS}, {{share}})" --range share=0:0.3'
    ),
    "what a stump splits on, label noise": (
        'sklearn.tree:DecisionTreeClassifier --param max_depth=1 --view "attr(feature_importances_)|nonzero" '
        f'--pairs 512 --over "flip_labels({IRIS}, {{share}})" --range share=0:0.4'
    ),
    "the lasso's choice of features, duplicates": (
        'sklearn.linear_model:Lasso --view "attr(coef_)|nonzero" --pairs 512 --rho 0.5 '
        '--over "duplicate(sklearn:load_diabetes, {share})" --range share=0:0.9'
    ),
}
COINS = '--over "bernoulli({p})" --range p=0:1'
MIXED = '--over "mixture(randint(0, 128), randint(128, 256))"'
SUBJECTS = {
    "rstat": f"rstat {COINS} --sample counts",
    "r_heavy_hitters": 'r_heavy_hitters --over "simplex(4)"',
    "r_median": f"r_median {MIXED}",
    "rstat_no_offset": f"rstat_no_offset {COINS}",
    "rstat_unshared_offset": f"rstat_unshared_offset {COINS}",
    "heavy_hitters_fixed_threshold": 'heavy_hitters_fixed_threshold --over "simplex(3)"',
}
MOST = {"r_median": 1000}  # pairs, of what takes longer than others


def hunted(words: str) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.json"
        command = [sys.executable, "-m", "auditor", "hunt", *shlex.split(words), "--jobs", "1", "--json", str(file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if not file.exists():
            raise SystemExit(f"{words}: {done.stderr}")
        return read_record(str(file))


def row(name: str, words: str) -> str:
    record = hunted(words)
    answer = answer_of(record)
    worst = answer.worst
    shown = f"`{worst.source}`" if worst else ""
    rho = f"{at_least(worst.low, 2)} to {at_most(worst.high, 2)}" if worst else ""
    claimed = "" if record.claimed is None else f"{record.claimed:g}"
    found = {"fail": "shown", "inconclusive": "none found"}.get(record.verdict, record.verdict)
    spent = f"{answer.candidates:,} / {answer.pairs_search + answer.pairs_confirm:,}"
    print(f"{name}: {found} {shown} {rho}", flush=True)
    return f"| {name} | {record.target:g} | {claimed} | {found} | {shown} | {rho} | {spent} |"


def table(rows: dict[str, str]) -> str:
    head = "| | target | claimed | above the target | worst | rho there | candidates / pairs |"
    return "\n".join([head, "|---" * 7 + "|", *(row(name, words) for name, words in rows.items())])


def main() -> None:
    report = ROOT / "reports" / "hunt.md"
    text = (
        "# The worst sources of bundled subjects\n\nMade by `python docs/make_hunt.py`. A source is *shown* where its "
    )
    text += "rho is above the target on fresh randomness (95 %);\nthat none is found says nothing of others.\n\n"
    rows = {name: f"{words} --pairs {MOST.get(name, 4000)}" for name, words in SUBJECTS.items()}
    report.write_text(f"{text}{table(rows)}\n")
    page = ROOT / "docs" / "hunt.md"
    begin, end = "<!-- learners -->\n", "<!-- end -->"
    before, _, rest = page.read_text().partition(begin)
    page.write_text(f"{before}{begin}{table(LEARNERS)}\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    main()
