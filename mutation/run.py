"""Do the tests notice when the code is wrong? A sample of mutants, each tried on the tests that execute its line.

    python mutation/run.py                              # 400 mutants of all that is in scope
    python mutation/run.py auditor/statistics --sample 100 --again

First the whole suite runs once under coverage, to learn which tests execute which lines (`covering.py`). Results are
kept in a session (cosmic-ray's SQLite): a run that was stopped goes on where it was, and `--again` tries survivors once
more, after the suite has run again. A mutant whose tests do not end within 90 seconds of processor time counts as
noticed. Survivors that no test can notice stand in `equivalent.toml`, with the reason. At the end every test that has
noticed a mutant runs once more on the unchanged code: if it fails there, its mutants are reported as unsure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import Empty, Queue
from threading import Lock, Thread
from typing import TypeVar

from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkItem, WorkResult
from covering import Covering
from mutants import mutated, sample, source
from scope import ROOT, modules

SECONDS = 90  # of processor time; a busy machine makes no mutant look slow
PATIENCE = 10 * SECONDS  # for one that sleeps
MEMORY = 10 * 2**30  # addresses of a mutant that never stops asking; with all libraries loaded, tests take 4 GB
Job = TypeVar("Job")


def command(tree: Path, words: Iterable[str], **variables: str) -> list[str]:
    """Return the command that runs pytest in a copy of the checkout, which comes first on the path."""
    variables = {"PYTHONPATH": f"{tree}:{tree / 'mutation'}", "OMP_NUM_THREADS": "1", **variables}
    settings = [f"{name}={value}" for name, value in {"HYPOTHESIS_PROFILE": "ci", **variables}.items()]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "covering", "-p", "no:cacheprovider"]
    return ["env", "-C", str(tree), *settings, *pytest, *words]


def record(tree: Path, folder: Path, workers: int, tests: list[str]) -> Covering:
    """Run the tests once under coverage in a copy of the checkout; those that fail there notice nothing later."""
    folder.mkdir()
    print("running the tests once, to learn which of them execute which lines", flush=True)
    words = command(tree, ["-n", str(workers), *tests], COVERING_RECORD=str(folder))
    subprocess.run(words, stdout=subprocess.DEVNULL)
    return Covering(folder, tree)


def trial(tree: Path, tests: list[str], *, stop: bool = True) -> str:
    """Return the command that runs these tests, in this order, within limits of time and memory."""
    listed = tree / "chosen.json"
    listed.write_text(json.dumps(tests))
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    words = command(tree, [*(["-x"] if stop else []), "-n", "0", *files], COVERING_CHOOSE=str(listed))
    return shlex.join(["prlimit", f"--as={MEMORY}", f"--cpu={SECONDS}", *words])


def copy_of_checkout(folder: Path) -> Path:
    tree = Path(shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "__pycache__", "*.sqlite")))
    asked = "import algorithms, auditor; print(algorithms.__file__, auditor.__file__)"
    words = ["env", "-C", str(tree), f"PYTHONPATH={tree}", sys.executable, "-c", asked]
    imported = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    if not all(Path(file).is_relative_to(tree) for file in imported):
        raise SystemExit(f"{imported} would be tested, not the mutants in {tree}")
    return tree


def in_turns(trees: list[Path], jobs: Iterable[Job], run: Callable[[Path, Job], None]) -> None:
    """Each tree takes the next job as soon as it is free."""
    waiting: Queue[Job] = Queue()
    for job in jobs:
        waiting.put(job)

    def work(tree: Path) -> None:
        while True:
            try:
                run(tree, waiting.get_nowait())
            except Empty:
                return

    threads = [Thread(target=work, args=(tree,), daemon=True) for tree in trees]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(1)  # and Ctrl-C is heard


def test_all(database: WorkDB, jobs: list[WorkItem], trees: list[Path], covering: Covering) -> None:
    lock, left = Lock(), [len(jobs)]

    def run(tree: Path, job: WorkItem) -> None:
        (spec,) = job.mutations
        module, line = str(spec.module_path), spec.start_pos[0]
        there = MutationSpec(tree / module, spec.operator_name, spec.occurrence, spec.start_pos, spec.end_pos)
        tests = covering.tests(module, line)
        if tests:
            result = mutate_and_test([there], trial(tree, tests), PATIENCE)
        else:
            result = WorkResult(WorkerOutcome.NORMAL, "no test executes it", TestOutcome.SURVIVED)
        with lock:
            database.set_result(job.job_id, result)
            left[0] -= 1
            print(f"{left[0]:>5} left   {outcome(result):<9} {module}:{line}   {len(tests)} tests", flush=True)

    in_turns(trees, jobs, run)


def killers(results: Iterable[WorkResult]) -> set[str]:
    """Return the names of the tests that failed on a mutant."""
    return {name for result in results for name in _killers(result)}


def _killers(result: WorkResult) -> list[str]:
    return re.findall(r"^(?:FAILED|ERROR) (tests/\S+?::.+?)(?: - .*)?$", result.output or "", re.MULTILINE)


def is_unsure(killers: list[str], flaky: set[str]) -> bool:
    """True if only tests failed that fail on the unchanged code too. A file that cannot be imported names no test."""
    return bool(killers) and flaky.issuperset(killers)


def failing_unmutated(tree: Path, tests: set[str]) -> set[str]:
    """Return those of the tests that fail on the unchanged code too: they have noticed nothing."""
    if not tests:
        return set()
    words = trial(tree, sorted(tests), stop=False)
    words = words.replace(f"--cpu={SECONDS}", "--cpu=unlimited").replace(f"--as={MEMORY}", "--as=unlimited")
    found, output = run_tests(words, 3600)
    return {*_killers(WorkResult(WorkerOutcome.NORMAL, output, found))}


def outcome(result: WorkResult) -> str:
    if result.test_outcome == TestOutcome.SURVIVED:
        return "survived"
    return "killed" if re.search(r" in \d[^\n]*\s*$", result.output or "") else "no end"  # pytest's last words


def lines(job: WorkItem) -> tuple[str, str, str]:
    """The module, the lines that were mutated, and what they became."""
    (spec,) = job.mutations
    module = str(spec.module_path)
    before = source(module).splitlines()
    after = mutated(module, spec.operator_name, spec.occurrence).splitlines()
    changed = [i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]][:1]
    return module, *("".join(text[i].strip() for i in changed) for text in (before, after))


def equivalents() -> set[tuple[str, str, str]]:
    listed = tomllib.loads((ROOT / "mutation" / "equivalent.toml").read_text())["equivalent"]
    return {(one["module"], one["line"], becomes) for one in listed for becomes in one["becomes"]}


def report(jobs: list[WorkItem], done: dict[str, WorkResult], flaky: set[str]) -> None:
    listed = equivalents()
    rows: dict[str, Counter[str]] = {}
    survivors = []
    for job in jobs:
        module, before, after = lines(job)
        kind = outcome(done[job.job_id]) if job.job_id in done else "left"
        if kind == "survived" and (module, before, after) in listed:
            kind = "equivalent"
        if kind == "killed" and is_unsure(_killers(done[job.job_id]), flaky):
            kind = "unsure"
        rows.setdefault(module, Counter())[kind] += 1
        if kind == "survived":
            survivors.append(f"{module}:{job.mutations[0].start_pos[0]}\n  - {before}\n  + {after}")
    print("\n".join(sorted(survivors)))
    kinds = ("killed", "no end", "survived", "equivalent", "unsure", "left")
    print(f"\n{'module':<44}{''.join(f'{kind:>12}' for kind in kinds)}{'noticed':>9}")
    for module, row in [*sorted(rows.items()), ("all", sum(rows.values(), Counter()))]:
        noticed = row["killed"] + row["no end"]
        share = noticed / max(1, noticed + row["survived"])
        print(f"{module:<44}{''.join(f'{row[kind]:>12}' for kind in kinds)}{share:>9.1%}")
    print("noticed: killed, or ended without an end (out of time or memory, crashed), of all that are not equivalent")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", default=[""], help="modules or folders; all in scope")
    parser.add_argument("--sample", type=int, default=400, help="how many mutants")
    parser.add_argument("--tests", nargs="*", default=[], help="files or folders of tests that may notice; all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--session", type=Path, default=ROOT / "mutation.sqlite")
    parser.add_argument("--again", action="store_true", help="try once more what survived")
    asked = parser.parse_args()
    jobs = sample(modules(tuple(asked.places)), asked.sample, asked.seed)
    with use_db(str(asked.session)) as database, tempfile.TemporaryDirectory() as folder:
        known = {job.job_id for job in database.work_items}
        database.add_work_items([job for job in jobs if job.job_id not in known])
        done = {name for name, result in database.results if not (asked.again and outcome(result) == "survived")}
        waiting = [job for job in jobs if job.job_id not in done]
        if waiting:
            trees = [copy_of_checkout(Path(folder, str(i))) for i in range(asked.workers)]
            test_all(database, waiting, trees, record(trees[0], Path(folder, "lines"), asked.workers, asked.tests))
        results = {name: result for name, result in database.results if name in {job.job_id for job in jobs}}
        noticed = [result for result in results.values() if outcome(result) == "killed"]
        flaky = failing_unmutated(copy_of_checkout(Path(folder, "unmutated")), killers(noticed))
        report(jobs, results, flaky)


if __name__ == "__main__":
    main()
