"""Programs as learners: what they are given, what of their output counts, and how they may fail.

Real programs: sh and awk, which every system has, and node and Rscript, where they are. Chance: none, all seeds are
fixed, and the audit of a program is compared with that of the same learner in Python, pair by pair.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners import caused
from msgspec.structs import replace
from support.processes import left_behind, on_linux, wait_until
from support.warm import MARK, Warm

import auditor
from auditor.errors import UsageError
from auditor.questions.explain.experiments import EXPERIMENTS
from auditor.randomness import from_key, root_key
from auditor.repair.mechanisms.keyed_draws import why_without_keys
from auditor.report.terminal import as_text
from auditor.request import OverCells
from auditor.subjects.programs import ProgramFailed, read_answer, read_program
from auditor.subjects.subject import load_subject
from auditor.trials.cell import make_bench, make_cell
from auditor.trials.identity import case_of

Command = Callable[..., tuple[int, str, str]]
PEOPLE = "age,score,sex\n31,0.5,0\n52,1.5,1\n44,2.5,0\n27,3.5,1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a data file, and one for temporary files that must be empty in the end."""
    work, temporary = tmp_path / "my work", tmp_path / "tmp"
    work.mkdir()
    temporary.mkdir()
    (work / "people.csv").write_text(PEOPLE)
    monkeypatch.chdir(work)
    monkeypatch.setenv("TMPDIR", str(temporary))
    return work


def folders_left() -> list[str]:
    return [path.name for path in Path(os.environ["TMPDIR"]).glob("auditor-run-*")]


def run(words: str, sample: Any = (), seed: int = 0, **params: Any) -> Any:
    """The answer of one run, which leaves nothing behind."""
    subject = load_subject(f"exec:{words}", params)
    try:
        return subject.run(np.asarray(sample), root_key(seed))
    finally:
        assert not folders_left()


ANSWERS = {
    "0.5": 0.5,
    "7": 7,
    '{"a": [1, 2.5, null]}': {"a": [1, 2.5, None]},
    '"word"': "word",
    "1 2 3": [1, 2, 3],
    "1, 2.5,3": [1.0, 2.5, 3.0],
    "1\n2\n\n3": [1, 2, 3],
    "1 2\n3 4": [[1, 2], [3, 4]],
    "-1e5\tinf": [-1e5, float("inf")],
    "[1] 0.25": 0.25,
    " [1] 1.5 2.5 3.5\n [4] 4.5": [1.5, 2.5, 3.5, 4.5],
    "[1]  TRUE FALSE": "[1]  TRUE FALSE",
    "007": 7,
    "1_000": "1_000",
    "gpt\r\nllama ": ["gpt", "llama"],
    "a": "a",
    "1 apple": "1 apple",
    "9" * 5000: "9" * 5000,
}


@pytest.mark.parametrize(("text", "answer"), ANSWERS.items(), ids=range(len(ANSWERS)))
def test_an_answer_is_json_or_numbers_or_lines(text: str, answer: Any) -> None:
    found = read_answer(text.strip())
    assert found == answer
    assert type(found) is type(answer)


AWK = "awk -F, 'NR > 1 { s += $2 } END { print s / (NR - 1) }'"
NODE = (
    'node -e \'const [h, ...rows] = require("fs").readFileSync(process.argv[1], "utf8").trim().split("\\n");'
    'console.log(JSON.stringify({names: h.split(","), mean: rows.reduce((s, r) => s + +r.split(",")[1], 0)'
    " / rows.length}))' {sample}"
)
R = """args <- commandArgs(TRUE)
set.seed(as.integer(args[2]))
people <- read.csv(args[1])
writeLines(as.character(tapply(people$score, people$sex, mean)), args[3])
"""
HAS = {name: pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name} here") for name in ("node", "Rscript")}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (f"{AWK} {{sample}}", 2.0),
        (AWK, 2.0),  # from standard input
        (f"sh -c '{AWK.replace(chr(39), chr(34)).replace('$', chr(92) + '$')} > \"$0\"' {{output}}", 2.0),
        pytest.param(NODE, {"names": ["age", "score", "sex"], "mean": 2.0}, marks=HAS["node"]),
        pytest.param("Rscript fit.R {sample} {seed} {output}", [1.5, 2.5], marks=HAS["Rscript"]),
        ("head -n 1 {sample}", "age,score,sex"),
    ],
)
def test_programs_of_other_languages_learn_from_a_file_with_labels(words: str, answer: Any, folder: Path) -> None:
    (folder / "fit.R").write_text(R)
    options = OverCells(size=4)
    bench = make_bench(make_cell("rho", load_subject(f"exec:{words}"), "people.csv#sex", options))
    assert bench.subject.run(bench.source.rows, root_key(0)) == answer


def test_an_audit_of_a_program_is_that_of_the_same_learner_in_python() -> None:
    """On the same samples: as many pairs differ, and the verdict is the same."""

    def first(sample: Any, r: Any) -> int:
        return int(sample[0]) * int(r.integers(2**31) % 4 > 0)

    words = """sh -c 'read -r header; read -r x; echo $((x * (0 < $1 % 4)))' sh {seed}"""
    mine = auditor.audit(first, "bernoulli(0.3)", size=3, fixed=40, second_process=False)
    others = auditor.audit(f"exec:{words}", "bernoulli(0.3)", size=3, fixed=40, second_process=False)
    assert (mine.verdict, mine.mismatches, mine.pairs) == (others.verdict, others.mismatches, others.pairs)
    assert 0 < (mine.mismatches or 0) < 40


def test_a_seed_is_an_integer_that_r_decides_and_that_r_takes() -> None:
    seeds = [run("echo {seed}", seed=seed) for seed in range(50)]
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)
    assert len({*seeds}) == 50
    assert seeds[3] == run("echo {seed} ", seed=3) == int(from_key(root_key(3)).integers(2**31))


def test_parameters_fill_in_placeholders_of_their_own_and_double_braces_stand_for_one() -> None:
    words = "printf '%s\\n' {k} --all={a_list} '{{sample}} {print $1} {}' x{k}y{k}"
    assert run(words, k=0.5, a_list=[1, 2]) == ["0.5", "--all=[1, 2]", "{sample} {print $1} {}", "x0.5y0.5"]


def test_each_run_has_a_folder_and_a_tmpdir_of_its_own_and_the_callers_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN", "mine")
    script = 'ls -A "$TMPDIR" .; pwd; echo "$TMPDIR"; echo "$OWN"; touch "$TMPDIR/kept" kept'
    first, again = (run(f"sh -c '{script}'") for _ in range(2))
    assert [line for line in first if "kept" in line] == []
    assert first[-1] == "mine"
    assert not {*first[-3:-1]} & {*again[-3:-1], str(folder), os.environ["TMPDIR"]}
    assert [path.name for path in folder.iterdir()] == ["people.csv"]


def test_files_among_the_words_become_absolute_and_count_as_code(folder: Path) -> None:
    for name in ("fit.sh", "conf.json", "people.csv.awk"):
        (folder / name).write_text('cat "$1" "${2#--with=}"')
    target = "exec:sh fit.sh people.csv --with=conf.json {sample} nothing.txt"
    program = read_program(target)
    here = str(folder)
    assert program.words[1:] == (
        f"{here}/fit.sh",
        f"{here}/people.csv",
        f"--with={here}/conf.json",
        "{sample}",
        "nothing.txt",
    )
    cell = make_cell("rho", load_subject(target), "norm", OverCells(size=3))
    before = case_of(cell, make_bench(cell).source)
    assert {*before.files} == {"fit.sh", "people.csv", "conf.json"}
    (folder / "conf.json").write_text("changed")
    after = case_of(cell, make_bench(cell).source)
    assert before.differs(after, "resume") == ["conf.json (it has changed)"]
    assert before.differs(after, "replay") == []
    assert before.code != after.code


def test_a_wrapped_program_counts_with_its_files_and_sees_the_names_of_columns(folder: Path) -> None:
    (folder / "score.awk").write_text('NR == 1 && $2 != "score" { exit 3 } NR > 1 { s += $2 } END { print s / NR }')
    (folder / "repaired.py").write_text(
        "from auditor.repair import rounded\nstable = rounded('exec:awk -F, -f score.awk {sample}', 0.5)\n"
    )
    cell = make_cell("rho", load_subject("repaired.py:stable"), "people.csv#sex", OverCells(size=4))
    bench = make_bench(cell)
    assert {*case_of(cell, bench.source).files} == {"score.awk", "repaired.py"}
    assert isinstance(bench.run(0, 0), float)
    assert cell.subject.unfinished.run(bench.source.rows, root_key(0)).numbers == 8 / 5


REFUSED = {
    "exec:": 'has no words: write e.g. "exec:Rscript fit.R {sample} {seed}"',
    "exec:sh 'fit": "cannot be split into words (No closing quotation)",
    "exec:no-such-program {sample}": "no program 'no-such-program' is on PATH",
    "exec:awkk {sample}": "(did you mean",
    "exec:./missing.sh": "the program './missing.sh' does not exist",
    "exec:./sub": "the program './sub' is a folder",
    "exec:./plain.sh {sample}": "./plain.sh is not executable: allow it with chmod +x ./plain.sh, or name the program",
    "exec:./two words.sh {sample}": "quote a path that has blanks in it, exec:'./two words.sh'",
    "exec:echo {smaple}": "nothing fills in {smaple} (did you mean {sample}?)",
    "exec:echo {k}": "--param k=VALUE adds one of your own, and {{k}} stands for the text {k} itself",
    "exec:echo {sample.xls}": "There are {sample}, {sample.parquet}, {sample.npy}, {seed}, {output}; {{sample.xls}}",
    "exec:echo {for}": "; {{for}} stands for",
    "exec:echo \0": "NUL character",
}


@pytest.mark.parametrize("target", REFUSED)
def test_wrong_words_get_a_sentence_before_anything_runs(target: str, folder: Path) -> None:
    (folder / "sub").mkdir()
    for name in ("plain.sh", "two words.sh"):
        (folder / name).write_text("echo 1")
    with pytest.raises(UsageError) as raised:
        load_subject(target)
    assert REFUSED[target] in str(raised.value)


def test_what_is_for_functions_is_refused_or_has_no_say(command: Command, folder: Path) -> None:
    said = {
        ("--randomness", "int"): "r becomes {seed}, and --randomness has no say",
        ("--sample", "counts"): "exec:echo 1 takes rows: use --sample rows",
        ("--param", "k=1"): "exec:echo 1 has no parameter 'k'",
    }
    for words, sentence in said.items():
        code, _, complaint = command("check", "exec:echo 1", "--source", "norm", "--size", "3", *words, cwd=folder)
        assert code == 2
        assert sentence in complaint
    code, _, complaint = command("explain", "exec:echo 1", "--source", "norm", "--size", "3", "--trace", cwd=folder)
    assert code == 2
    assert "local variables of Python code" in complaint


FAULTS = {
    "sh -c 'echo one >&2; echo two >&2; exit 3'": "ended with exit status 3; it said last: one | two",
    "sh -c 'kill -SEGV $$'": "was killed by SIGSEGV; it said nothing on standard error",
    "true": "wrote nothing to standard output: write the answer there; for an answer that is empty write [] or a word",
    "true {sample}": "; its sample was in {sample}, and its standard input was empty",
    "true {output}": "wrote no {output}: write the answer to the file that is named there",
    "mkdir {output}": "wrote an {output} that cannot be read: it is a directory, and not a file",
    "mkfifo {output}": "wrote an {output} that cannot be read: it is a pipe, and not a file",
    "ln -s /dev/zero {output}": "wrote an {output} that cannot be read: it is a device, and not a file",
    "printf '\\377\\376'": "wrote something to standard output that is not text in UTF-8 (byte 0)",
    "sh -c 'yes [ | head -n 100000 | tr -d \"\\n\"'": "wrote JSON to standard output that is nested too deeply",
    "./script": "could not be started: it is a script without a first line such as #!/bin/sh",
    "./orphan": "could not be started: ",
}


@pytest.mark.parametrize("words", FAULTS)
def test_a_run_that_gives_no_answer_is_a_fault_with_the_programs_last_words(words: str, folder: Path) -> None:
    for name, text in (("script", "echo 1"), ("orphan", "#!/no/such/interpreter\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    with pytest.raises(ProgramFailed) as raised:
        run(words)
    assert FAULTS[words] in str(raised.value)


def test_what_is_printed_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.subjects.programs._MOST", 2**20)
    monkeypatch.setattr("auditor.subjects.programs._LOOK", 0.01)
    with pytest.raises(ProgramFailed, match="was ended: it printed more than 1 MB; print the answer alone"):
        run("yes")
    with pytest.raises(ProgramFailed, match=r"wrote more than 1 MB to \{output\}: write the answer alone"):
        run("sh -c 'yes | head -c 2000000 > \"$0\"' {output}")


def test_who_outlives_a_program_keeps_nobody_waiting() -> None:
    assert run("sh -c 'sleep 5 & echo 1; kill $!'") == 1
    assert run("sh -c '(sleep 30; echo 2) & p=$!; echo 1; (sleep 0.3; kill $p) &'") == 1


def test_a_failing_audit_names_the_run_and_bottoms_count_as_an_output(command: Command, folder: Path) -> None:
    script = """exec:sh -c 'read -r header; read -r x; test $x = 0 || { echo "no $x" >&2; exit 9; }; echo ok'"""
    words = ("check", script, "--source", "bernoulli(0.5)", "--size", "1", "--jobs", "1")
    code, printed, _ = command(*words, cwd=folder)
    assert code == 4
    assert "ended with exit status 9 in the " in printed
    assert "it said last: no 1" in " ".join(printed.split())
    code, printed, _ = command(*words, "--on-error", "bottom", cwd=folder)
    assert code == 1
    assert "no output" in printed


NO_SEED = {
    "exec:echo 1": "none of its words has {seed}",
    "exec:echo 1 {seed}": "",
    "exec:sh -c 'echo 1' {seed}": "with another one its answers were the same, on all samples tried",
    "exec:echo {seed}": "",
}


@pytest.mark.parametrize("target", [*NO_SEED])
def test_the_report_says_where_a_program_has_no_use_for_its_seed(target: str) -> None:
    record = auditor.audit(target, "norm", size=2, fixed=4, rho=0.9, second_process=False)
    found = [one.message for one in record.findings if one.kind == "no-randomness"]
    assert [message.partition(": ")[2] for message in found] == [NO_SEED[target]] * bool(NO_SEED[target])


def test_a_program_that_draws_by_itself_is_told_to_use_its_seed(folder: Path, command: Command) -> None:
    words = ("check", "exec:sh -c 'echo $$'", "--source", "norm", "--size", "2")
    code, printed, _ = command(*words, cwd=folder)
    assert code == 4
    assert "Seed it with {seed}" in printed


def test_a_replay_shows_the_words_and_runs_them_when_it_is_trusted(folder: Path, command: Command) -> None:
    (folder / "fit.sh").write_text(f'touch "{folder}/ran"; tail -n 1')
    target = "exec:sh fit.sh"
    code, *_ = command("check", target, "--source", "norm", "--size", "3", "--json", "record.json", cwd=folder)
    assert code == 1
    (folder / "ran").unlink()
    code, printed, complaint = command("replay", "record.json", "--pair", "0", cwd=folder)
    assert (code, (folder / "ran").exists()) == (2, False)
    assert f"sh '{folder}/fit.sh'" in complaint
    assert "say --trust" in complaint
    code, printed, _ = command("replay", "record.json", "--pair", "0", "--trust", cwd=folder)
    assert (code, (folder / "ran").exists()) == (0, True)
    assert printed.startswith("DIFFERENT  pair 0")


def test_explain_leaves_out_what_is_pythons() -> None:
    other, python = (
        make_bench(make_cell("rho", load_subject(target), "norm", OverCells(size=2)))
        for target in ("exec:echo 1", "exec:python3 -c 'print(1)'")
    )
    hash_seed = next(one for one in EXPERIMENTS if one.kind == "hash-seed")
    assert hash_seed.why_not([], other) == "not applicable: hash seeds are Python's"
    assert hash_seed.why_not([], python) == ""
    assert "an integer for its {seed}" in str(why_without_keys(other.subject))


@pytest.mark.usefixtures("no_other_process")
def test_an_explanation_says_that_its_code_is_pythons() -> None:
    record = auditor.ask("explain", caused.raw_mean, "norm", size=30)
    said = "In a program, r is a generator that is seeded with {seed}"
    assert said not in as_text(record)
    assert said in as_text(replace(record, subject="exec:sh mean.sh"))


HANGS = """echo $$ > "$0.began"
setsid sleep 1000 &
timeout 1000 sleep 1000 &
echo > "$0.begun"
sleep 1000
"""


@on_linux
@pytest.mark.parametrize("ending", ["timeout", "interrupt", "kill"])
def test_nothing_of_a_program_that_is_ended_stays_behind(ending: str, folder: Path, warm: Warm) -> None:
    """Neither a process, those with a group or a session of their own included, nor a folder."""
    (folder / "hang.sh").write_text(HANGS)
    limits = ("--timeout", "0.5") if ending == "timeout" else ()
    mark = os.urandom(16).hex()
    words = ("check", "exec:sh hang.sh {sample}", "--source", "people.csv", *limits)
    command = warm.start(*words, cwd=folder, environment={MARK: mark})
    assert wait_until((folder / "hang.sh.begun").exists, of=command)
    if ending != "timeout":
        command.send_signal(signal.SIGINT if ending == "interrupt" else signal.SIGKILL)
    assert command.wait() == {"timeout": 4, "interrupt": 130, "kill": -signal.SIGKILL}[ending]
    assert wait_until(lambda: not left_behind(mark))
    assert wait_until(lambda: not folders_left())
