"""How reproducible is what people use? `nice python benchmarks/field.py [--scale 0.1] [--ledger FILE] [--causes]`

Three tables: estimators of scikit-learn, and of xgboost and lightgbm where they are installed, with their default
parameters on data sets of scikit-learn; the bundled decisions, plain and reproducible, on the files of examples/data;
and every bundled subject at its own size against its claim. It writes reports/field.json, reports/field.md, a page of
the site, and reports/field.svg.

Each row is an audit of a fixed number of pairs, 200 times `--scale` and at least 8. A row whose one run takes longer
than half a second is left out, and so is what cannot be audited; the page names both with the reason. For all M
intervals to hold together with 95 % confidence, each has 1 - 0.05 / M. What is finished is kept in the ledger, a line
of JSON a row, and not run again. `--causes` asks explain and repair about the estimators whose rho is above 0.1.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import auditor
from auditor.errors import AuditorError
from auditor.lookup import registered_subjects
from auditor.trials.cell import make_bench

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "reports"
CONFIDENCE, TARGET = 0.95, 0.1
ANY = 0.9  # a target that few pairs decide: intervals are asked for here, and no verdicts
LEAST, PAIRS, SECONDS = 8, 200, 0.5  # pairs at the least, pairs at scale 1, and seconds that a run may take
TABLES = {
    "estimators": "Estimators with their default parameters",
    "decisions": "Decisions from a table, plain and reproducible",
    "own": "Bundled subjects at their own sizes",
}
DATA = {"classifier": "sklearn:load_iris", "regressor": "sklearn:load_diabetes", "cluster": "sklearn:load_iris"}
WIDER = {"classifier": "sklearn:load_breast_cancer"}
ALSO = {"xgboost": ["XGBClassifier", "XGBRegressor"], "lightgbm": ["LGBMClassifier", "LGBMRegressor"]}
FILES = "examples/data"
LONG = {"by": "model", "score": "score", "unit": "item"}
ARMS = {"by": "version", "score": "spent", "a": "b", "b": "a", "test": "t"}
BOUGHT = {"by": "customer", "score": "amount"}
DECISIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("winner", "scores.csv", {}),
    ("ranking", "scores.csv", {}),
    ("top", "scores.csv", {"k": 2}),
    ("winner", "judged.csv", LONG),
    ("beats", "visits.csv", ARMS),
    ("features", "customers.csv#left", {"k": 2}),
    ("features", "customers.csv#left", {"k": 3}),
    ("group_report", "orders.csv", {**BOUGHT, "n": 3}),
    ("group_report", "orders.csv", {**BOUGHT, "n": 10}),
]


class Asked(NamedTuple):
    """One row before it is run."""

    table: str
    subject: str
    source: str | None
    params: dict[str, Any]

    @property
    def key(self) -> str:
        return json.dumps([self.table, self.subject, self.source, self.params])


def estimators() -> Iterator[Asked]:
    from sklearn.utils import all_estimators

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, source in DATA.items():
            for _, found in all_estimators(type_filter=kind):
                target = f"{_public(found.__module__)}:{found.__name__}"
                yield from (Asked("estimators", target, one, {}) for one in (source, WIDER.get(kind)) if one)
    for package, names in ALSO.items():
        for name in names if find_spec(package) else ():
            yield Asked("estimators", f"{package}:{name}", DATA["classifier" if "Class" in name else "regressor"], {})


def _public(module: str) -> str:
    return ".".join(part for part in module.split(".") if not part.startswith("_"))


def decisions() -> Iterator[Asked]:
    for name, file, params in DECISIONS:
        for one in (name, f"r_{name}"):
            yield Asked("decisions", one, f"{FILES}/{file}", params)


def own() -> Iterator[Asked]:
    yield from (Asked("own", name, None, {}) for name in sorted(registered_subjects()))


def every_row() -> list[Asked]:
    return [*estimators(), *decisions(), *own()]


def measured(asked: Asked, pairs: int, confidence: float, longest: float = float("inf")) -> dict[str, Any]:
    """Return the row of an audit: how often two runs differ, what else is known, or why there is none."""
    row: dict[str, Any] = {"subject": asked.subject, "source": asked.source, "params": asked.params}
    options: Any = {"fixed": pairs, "confidence": confidence, "params": asked.params, "rho": ANY}
    started = perf_counter()
    try:
        if (seconds := _seconds_of_a_run(asked)) > longest:
            return row | {"left_out": f"one run took more than {longest:.2g} s here"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record = auditor.ask("rho", asked.subject, asked.source, second_process=False, **options)
    except AuditorError as error:
        return row | {"left_out": str(error)}
    if record.verdict == "error" or record.rho is None or record.rho.estimate is None:
        return row | {"left_out": record.reason}
    known = {one.name: one.estimate for one in record.measures if one.name in ("churn", "inaccurate")}
    known |= {"score": record.score.estimate} if record.score else {}
    row |= {"pairs": record.pairs, "rho": record.rho.estimate, "low": record.rho.low, "high": record.rho.high}
    row |= {"size": record.size, "view": record.view, "expect": record.expect, **known}
    row |= {"claimed": record.claimed} if asked.table == "own" else {}
    return row | {"seconds_a_run": round(seconds, 4), "seconds": round(perf_counter() - started, 2)}


def _seconds_of_a_run(asked: Asked) -> float:
    """Return how long one run takes, the second of two: the first loads libraries."""
    from auditor.flow.question import find_question, make_request

    request = make_request("rho", asked.subject, asked.source, {"params": asked.params, "rho": ANY})
    bench = make_bench(find_question("rho").begin(request).cells[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in range(2):
            started = perf_counter()
            bench.run(index, 0)
    return perf_counter() - started


def causes(row: dict[str, Any]) -> dict[str, Any]:
    """Return why an estimator's runs differ, and what would mend it, in the words of explain and repair."""
    found = {}
    for question in ("explain", "repair"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[question] = auditor.ask(question, row["subject"], row["source"]).reason
        except AuditorError as error:
            found[question] = str(error)
    return found


def versions() -> dict[str, str]:
    found = {"python": sys.version.partition(" ")[0], "auditor": auditor.__version__}
    known = packages_distributions()
    for name in ("numpy", "scipy", "sklearn", *ALSO):
        if name in known:
            found[name] = version(known[name][0])
    return found


def run(scale: float, ledger: Path, rows: Sequence[Asked], *, with_causes: bool = False) -> dict[str, Any]:
    """Run all rows that the ledger does not have, and return the whole document."""
    pairs, confidence = max(LEAST, round(PAIRS * scale)), 1 - (1 - CONFIDENCE) / len(rows)
    how = {"scale": scale, "pairs": pairs, "confidence": CONFIDENCE, "each": confidence, "rows": len(rows)}
    settings = json.dumps([how, versions()])
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    kept = [json.loads(line) for line in lines]
    done = {one["key"]: one["row"] for one in kept if one["settings"] == settings}
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for asked in rows:
        if asked.key not in done:
            row = measured(asked, pairs, confidence, SECONDS)
            if with_causes and asked.table == "estimators" and row.get("low", 0.0) > TARGET:
                row |= causes(row)
            with ledger.open("a") as file:
                file.write(json.dumps({"settings": settings, "key": asked.key, "row": row}) + "\n")
            done[asked.key] = row
            print(asked.subject, asked.source or "", row.get("rho", row.get("left_out")), flush=True)
        tables[asked.table].append(done[asked.key])
    return {"how": how, "versions": versions(), "tables": tables}


# The page.

HEADS: dict[str, list[tuple[str, Callable[[dict[str, Any]], str]]]] = {
    "estimators": [
        ("estimator", lambda row: f"`{row['subject'].rpartition(':')[2]}`"),
        ("data", lambda row: row["source"].rpartition("_")[2]),
        ("churn", lambda row: _number(row.get("churn"))),
        ("score", lambda row: _number(row.get("score"))),
        ("s a run", lambda row: f"{row['seconds_a_run']:.2g}"),
    ],
    "decisions": [
        ("decision", lambda row: f"`{row['subject']}`"),
        ("file", lambda row: row["source"].rpartition("/")[2]),
        ("parameters", lambda row: " ".join(f"{name}={value}" for name, value in row["params"].items())),
        ("s a run", lambda row: f"{row['seconds_a_run']:.2g}"),
    ],
    "own": [
        ("subject", lambda row: f"`{row['subject']}`"),
        ("rows", lambda row: f"{row['size']:,}" if row["size"] < 10**7 else f"{row['size']:.2g}"),
        ("claimed", lambda row: _number(row.get("claimed"))),
        ("expected", lambda row: row["expect"]),
        ("s a run", lambda row: f"{row['seconds_a_run']:.2g}"),
    ],
}
SORTS = """```{raw} html
<script>
document.querySelectorAll("table").forEach(table => table.querySelectorAll("th").forEach((head, place) => {
  head.style.cursor = "pointer";
  head.addEventListener("click", () => {
    const body = table.tBodies[0], text = row => row.cells[place].innerText, sign = head.dataset.down ? -1 : 1;
    head.dataset.down = sign > 0 ? "1" : "";
    const less = (a, b) => (parseFloat(a) - parseFloat(b)) || a.localeCompare(b);
    [...body.rows].sort((a, b) => sign * less(text(a), text(b))).forEach(row => body.append(row));
  });
}));
</script>
```"""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def page(document: dict[str, Any]) -> str:
    """Return the report as Markdown: every figure is one of the document's."""
    how, rows = document["how"], document["how"]["rows"]
    used = ", ".join(f"{name} {one}" for name, one in document["versions"].items())
    parts = [
        "# The field, audited",
        "How often do two runs on two redraws of the same data, with the same r, give different answers? Each row is "
        f"an audit of {how['pairs']} pairs; rho is that rate, between `low` and `high`. All {rows} intervals of this "
        f"page hold together with {how['confidence']:.0%} confidence, so each has {how['each']:.6g}. For predictions, "
        "two runs differ if a single one does; churn is the share of predictions that change, and the score is that of "
        "the fits on rows that they have not seen. On a data set all of it is said of redraws of its rows, and not of "
        "fresh ones. Click a heading to sort by it.",
        f"Measured at scale {how['scale']:g} of the budgets in `benchmarks/field.py`, with {used}. To run it again: "
        f"`python benchmarks/field.py --scale {how['scale']:g}`.",
        "![rho of every row, with its interval](field.svg)",
    ]
    for name, title in TABLES.items():
        known = [row for row in document["tables"][name] if "rho" in row]
        heads = [head for head, _ in HEADS[name]]
        lines = [f"| {' | '.join([*heads[:-1], 'rho', 'low', 'high', heads[-1]])} |", "|---" * (len(heads) + 3) + "|"]
        for row in sorted(known, key=lambda row: (row["rho"], row["subject"], str(row["source"]))):
            cells = [of(row) for _, of in HEADS[name]]
            rho = [_number(row[one]) for one in ("rho", "low", "high")]
            lines.append(f"| {' | '.join([*cells[:-1], *rho, cells[-1]])} |")
        parts += [f"## {title}", "\n".join(lines)]
        if told := [row for row in known if "explain" in row]:
            parts.append("\n".join(f"- `{row['subject']}`: {row['explain']} {row['repair']}" for row in told))
        left = [row for row in document["tables"][name] if "rho" not in row]
        if left:
            why = "\n".join(f"- `{row['subject']}`{_on(row)}: {_one_line(row['left_out'])}" for row in left)
            parts.append(f"Left out, with the reason:\n\n{why}")
    return "\n\n".join([*parts, SORTS]) + "\n"


def _on(row: dict[str, Any]) -> str:
    return f" on {row['source']}" if row["source"] else ""


def _one_line(text: str) -> str:
    return " ".join(text.replace("|", "/").replace("<", "(").replace(">", ")").split())[:200]


def picture(document: dict[str, Any]) -> str:
    """Return rho of all rows with its interval, a panel a table, the smallest first."""
    wide, tall, drawn = 900, 200, []
    for place, (name, title) in enumerate(TABLES.items()):
        rows = sorted((row for row in document["tables"][name] if "rho" in row), key=lambda row: row["rho"])
        top = 30 + place * (tall + 40)
        drawn.append(f'<text x="40" y="{top - 8}">{title}: rho of each, 0 to 1</text>')
        drawn.append(f'<path d="M40 {top}V{top + tall}H{wide - 10}" fill="none" stroke="#888"/>')
        for i, row in enumerate(rows):
            x = 45 + i * (wide - 60) / max(1, len(rows))
            low, high, rho = (f"{top + tall * (1 - row[one]):.1f}" for one in ("low", "high", "rho"))
            drawn.append(f'<path d="M{x:.1f} {low}V{high}" stroke="#9bc"/><circle cx="{x:.1f}" cy="{rho}" r="2.2"/>')
    height = 30 + len(TABLES) * (tall + 40)
    font = 'font-family="sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {height}" {font}>'
    return f"{head}\n<rect width='100%' height='100%' fill='#fff'/>\n" + "\n".join(drawn) + "\n</svg>\n"


def write(document: dict[str, Any]) -> None:
    (REPORTS / "field.json").write_text(json.dumps(document, indent=1) + "\n")
    (REPORTS / "field.md").write_text(page(document))
    (REPORTS / "field.svg").write_text(picture(document))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--ledger", type=Path, default=ROOT / "field.jsonl")
    options.add_argument("--causes", action="store_true")
    asked = options.parse_args()
    write(run(asked.scale, asked.ledger, every_row(), with_causes=asked.causes))


if __name__ == "__main__":
    main()
