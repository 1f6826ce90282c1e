"""Makes docs/explain.md: three learners of scikit-learn explained, and what a reader should do about each.

Run: python benchmarks/explained.py (about two minutes).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from sklearn.cluster import KMeans
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression

import auditor
from auditor.questions.explain.words import WORDS, explain_parts
from auditor.report.formats.markdown import markdown_of

DOCS = Path(__file__).parent.parent / "docs"
BENCH = "## How often it is right"  # the section that causes.py writes, at the end
HEAD = """\
# Why two runs differ

`check` says whether two runs on fresh samples with the same `r` agree. Where they do not, `explain` says why, by
experiment: it takes one possible cause away, leaves all else as it was, and measures how often two runs still differ.
This page is made by `python benchmarks/explained.py`.

    python -m auditor explain learner.py:fit --source norm --size 1000 [all options of check]

| cause | what it means | its pairs are run or compared | what to do |
|---|---|---|---|
"""
RULES = """
## What is claimed

- **Pairs of its own.** All experiments use pairs whose keys no `check` uses. On pairs that were picked because they
  failed, anything would look like a cure. Eight further pairs, which count for nothing else, decide which experiments
  fit and how wide the grid of `continuous` is.
- **A sham beside each experiment.** A learner that tosses a private coin in a few of its runs agrees with itself most
  of the time, so that running anything again looks like a cure. Each experiment therefore runs every pair twice: with
  the change, and as often with nothing changed, in the same kind of process and in an order that a coin decides. If
  hidden state is all there is, nothing tells the two apart. (`labels`, `output-order` and `continuous` run nothing
  again: they compare the two outputs of a pair in another way.)
- **When a cause is named.** A cause is named when the pairs show that taking it away removes at least a quarter of the
  mismatches that the sham has. Each pair is a bet, and the evidence has to reach m / alpha for m experiments. So the
  probability that *any* wrong cause is named, one that removes less than that, is at most alpha (5 %, or
  1 - `--confidence`), however often one looks. An experiment stops as soon as it is settled either way.
- **Hidden state is a fact.** One sample and r with two outputs in the same kind of process proves it. Eight samples are
  run twice, and the shams of other experiments count too. Hidden state is named first, whatever share of rho it
  explains. Where no cause is shown at all, up to 100 samples are run twice.
- **The hash seed and threads** must not matter either, and come next. 24 samples are run in other processes: under
  another hash seed with all threads, and under three more hash seeds if the learner's own code makes a set or asks for
  a hash. A sample with another output there is run up to 12 more times in new processes on either side. The cause is
  named if the output changes more often than in the sham, which has the hash seed and the one thread of the first run;
  the evidence has to reach m / alpha here too. Last digits do not count for `threads`, since a sum in another order has
  others. An effect on one sample in ten is missed with probability 0.08. Where outputs differ from run to run, but
  never with one thread, threads are named and hidden state is not.
- **Where a grid is no cure.** `continuous` is not tried where the numbers take few values, nor where one fresh row
  moves them about as far as a fresh sample does: a number that depends on the rows continuously moves 1 / sqrt(size)
  as far.
- **The order of causes** is that of the share of mismatches that they explain. Of causes whose shares differ by a tenth
  or less the more particular one comes first, since a wide enough grid makes up for any difference between numbers.
- **`r-unused` comes last.** It is named where rho is above the target and a fresh r on the same sample changes less
  than a quarter of what fresh rows change. Where no bit of r was drawn, it is named if the same sample run again
  differs less often than fresh samples do, by a quarter or more.
- **No cause** is an answer too, and the report then starts with NO CAUSE FOUND. Where all pairs agree, or rho is shown
  to be within the target, it starts with NOTHING TO EXPLAIN; a smaller `--rho` asks for more.
- **How wide a grid, how many rows?** To show a cause, one width and two sizes are tried: a width at which about half of
  the target should be left, and four times the rows (of a data set a quarter, since it has no more). Neither is the
  width or the size that just reaches the target. `repair` and `price` measure those; the report has their commands.
- **Notes** say what an experiment showed that is not a cause: last digits that change with the order of rows, or draws
  that differ between two runs although keeping them in step does not lower rho. (Draws in a loop within one function,
  and draws of compiled code, cannot be kept in step.)
- **Cost.** All experiments together take at most 6 times as many trials as one may take pairs (`--pairs`, 100 / rho
  unless given), and usually a few hundred. A trial takes 2 to 10 runs, most of them 4; the record has the sum under
  `answer.runs`. Shams make up three tenths of all runs. `--trace` adds a hint: the first local value that differs
  although what its line reads does not.
- **Exit codes.** 0 whenever the experiments ran, 2 for wrong usage, 4 if nothing could be run. Hidden state, or a
  second process that differs, ends a `check`; here it is evidence.
- **The record.** `--json` has `answer.causes`, the main one first, with `kind`, `before`, `after`, `message`, `where`,
  `replay` and `cure`, and `answer.experiments`; `--svg` draws the table.
"""


def chosen(fitted: Any) -> Any:
    return fitted.get_support()


BLOBS = "sklearn:make_blobs(centers=3, cluster_std=0.3)"
LEARNERS = (
    (
        "Clusters that are found every time, under other names",
        f'auditor.ask("explain", KMeans(3, n_init=2), "{BLOBS}", size=100, probe=50, view="predict")',
        lambda: auditor.ask("explain", KMeans(3, n_init=2), BLOBS, size=100, probe=50, view="predict"),
        "The partition is stable and its numbering is not. Do not compare, store or join on cluster numbers: renumber "
        "the clusters by their centres, or compare which points are together. (r picks rows by their places, so that "
        "sorted rows have numbers in common more often; that is a smaller part of the same thing.)",
    ),
    (
        "Coefficients that nothing rounds",
        'auditor.ask("explain", LinearRegression(), "sklearn:load_diabetes", view="attr(intercept_)")',
        lambda: auditor.ask("explain", LinearRegression(), "sklearn:load_diabetes", view="attr(intercept_)"),
        "Two raw floats of continuous data never agree, and that is no fault of the estimator. Publish the number "
        "rounded on a grid that r places, no finer than the width that the report names; the last digits that also "
        "show are a note, since rho does not fall without them.",
    ),
    (
        "Features that the sample is too small to choose",
        'auditor.ask("explain", SelectKBest(k=5), "sklearn:load_breast_cancer", view=chosen)  # get_support()',
        lambda: auditor.ask("explain", SelectKBest(k=5), "sklearn:load_breast_cancer", view=chosen),
        "Scores of the fifth and the sixth feature are too close for so few rows: rho falls with more of them, and "
        "`price` measures how many it takes. Where there are no more, choose a number of features at which there is a "
        "gap; and let r decide what the rows leave open, as `examples/feature_selection.py` does.",
    ),
)


def table() -> Iterator[str]:
    for kind, words in WORDS.items():
        cure = words.cure.format(target="RHO", width="of width W").replace("|", "\\|")
        yield f"| `{kind}` | {words.because} | {words.changes} | {cure} |"


def sections() -> Iterator[str]:
    for title, command, ask, advice in LEARNERS:
        record = ask()
        yield f"\n## {title}\n\n```python\n{command}\n```\n\n{record.reason}\n"
        yield "\n\n".join(markdown_of(explain_parts(record))) + "\n"
        yield "\n".join(wrap(f"**What to do.** {advice}", 118)) + "\n"


def main() -> None:
    text = HEAD + "\n".join(table()) + "\n" + RULES + "\n".join(sections())
    page = DOCS / "explain.md"
    bench = page.read_text().partition(BENCH)[2] if page.exists() else ""
    page.write_text(f"{text}\n{BENCH}{bench}" if bench else text)


if __name__ == "__main__":
    main()
