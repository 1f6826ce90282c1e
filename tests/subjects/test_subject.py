from __future__ import annotations

import importlib
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.requests import bench_of

import algorithms
import auditor
from auditor import lookup
from auditor.errors import BadValue, UsageError
from auditor.lookup import (
    declared_targets,
    find_object,
    full_target,
    importable_name,
    offered_subjects,
    registered_subjects,
)
from auditor.randomness import root_key
from auditor.subjects.subject import code_hash, load_subject, param_text, parse_param
from auditor.subjects.table import table_of


def plain(sample: Any, r: Any) -> int:
    return 1


def with_params(sample: Any, r: Any, width: float, *, depth: int = 3, how: Callable[[int], int] | None = None) -> Any:
    return width, depth, how


def takes_int(sample: Any, r: int) -> int:
    return r


def takes_state(sample: Any, r: np.random.RandomState) -> float:
    return float(r.rand())


def takes_random(sample: Any, r: random.Random) -> float:
    return r.random()


def unresolved(sample: NoSuchType, r: Any) -> int:  # type: ignore[name-defined]  # noqa: F821
    return 2


def one_argument(sample: Any) -> int:
    return 1


def anything(*args: Any, **kwargs: Any) -> Any:
    return kwargs


class Nested:
    @staticmethod
    def method(sample: Any, r: Any) -> str:
        return "nested"


HERE = __name__


def test_targets_lead_to_their_objects() -> None:
    assert find_object(f"{HERE}:plain") is plain
    assert find_object(f"{HERE}:Nested.method")(None, None) == "nested"
    assert find_object(f"{Path(__file__)}:plain")(None, None) == 1
    assert find_object(f"{Path(__file__)}:plain") is find_object(f"{Path(__file__)}:plain")
    assert full_target("rstat") == "algorithms.statistical_query:rstat"
    assert {"rstat", "constant", "mean"} <= set(registered_subjects())


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("algorithmz.controls:mean", r"no module named 'algorithmz' \(did you mean algorithms\?\)"),
        ("algorithms.control:mean", r"no module named 'algorithms.control' \(did you mean controls\?\)"),
        ("algorithms.controls:meen", r"has no 'meen' \(did you mean mean\?\)"),
        ("no_such_file.py:fn", "no file"),
        ("rstatt", r"not a registered subject \(did you mean rstat\?\)"),
        (":fn", "names no function"),
        ("algorithms:", "names no function"),
    ],
)
def test_unknown_targets_get_a_suggestion(target: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_subject(target)


def test_a_module_that_fails_to_import_is_told_from_one_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import surely_not_installed\n")
    with pytest.raises(UsageError, match=r"importing .* raised ModuleNotFoundError: .*surely_not_installed"):
        find_object(f"{tmp_path / 'broken.py'}:fn")
    (tmp_path / "worse.py").write_text("1 / 0\n")
    with pytest.raises(UsageError, match="raised ZeroDivisionError"):
        find_object(f"{tmp_path / 'worse.py'}:fn")


def test_a_file_can_import_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "neighbour_of_mine.py").write_text("VALUE = 7\n")
    (tmp_path / "mine.py").write_text("from neighbour_of_mine import VALUE\ndef fn(sample, r): return VALUE\n")
    assert load_subject(f"{tmp_path / 'mine.py'}:fn").fn(None, None) == 7


def test_another_package_called_algorithms_is_named(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "algorithms").mkdir()
    (tmp_path / "algorithms" / "__init__.py").write_text("")
    ended = subprocess.run(
        [sys.executable, "-m", "auditor", "check", "algorithms.controls:mean"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2
    assert f"the package 'algorithms' found here is {tmp_path / 'algorithms'}" in ended.stderr


def test_parameters_are_checked_against_the_signature() -> None:
    loaded = load_subject(with_params, {"width": 2.0})
    assert loaded.settings == {"width": 2.0, "depth": 3, "how": None}
    with pytest.raises(UsageError, match=r"needs a value for width: --param width=VALUE"):
        load_subject(with_params)
    with pytest.raises(UsageError, match=r"no parameter 'dept' \(did you mean depth\?\): it has width, depth, how"):
        load_subject(with_params, {"width": 1.0, "dept": 2})
    with pytest.raises(UsageError, match="it has none"):
        load_subject(plain, {"x": 1})
    assert load_subject(one_argument).randomness == "none"
    with pytest.raises(UsageError, match=r"is ndarray, not a function|is str, not a function"):
        load_subject(f"{HERE}:HERE")
    assert load_subject(anything, {"whatever": 1}).settings == {"whatever": 1}
    assert load_subject(unresolved).fn(None, None) == 2


def test_texts_are_literals_functions_or_strings() -> None:
    texts = {"width": "[1, 2.5]", "depth": "abc", "how": f"{HERE}:plain"}
    assert load_subject(f"{HERE}:with_params", texts=texts).params == {"width": [1, 2.5], "depth": "abc", "how": plain}
    # only a parameter that asks for a function turns module:fn into one
    assert load_subject(with_params, texts={"width": f"{HERE}:plain"}).params == {"width": f"{HERE}:plain"}


@pytest.mark.parametrize(
    "value",
    [0.1, 1, True, None, "abc", "0.5", "", "None", (1, 2), [1.5], {"a": 1}, float("inf"), -float("inf"), "it's"],
)
def test_what_a_parameter_is_typed_as_reads_back(value: object) -> None:
    again = parse_param(param_text(value))
    assert again == value
    assert type(again) is type(value)


def test_annotations_and_options_choose_r() -> None:
    kinds = [load_subject(fn).randomness for fn in (plain, takes_int, takes_state, takes_random)]
    assert kinds == ["Generator", "int", "RandomState", "Random"]
    assert load_subject(plain, randomness="int").randomness == "int"
    key = root_key(0)
    for fn in (takes_int, takes_state, takes_random):
        assert load_subject(fn).run(None, key) == load_subject(fn).run(None, key)


def test_declarations_are_numbers_or_functions_of_the_parameters_they_name() -> None:
    @auditor.subject(
        source="norm", size=lambda depth: depth * 10, claimed=0.2, delta=lambda depth, width: depth * width
    )
    def declared(sample: Any, r: Any, *, depth: int = 4, width: float = 0.01) -> int:
        return depth

    loaded = load_subject(declared, {"depth": 5})
    assert (loaded.declares("size"), loaded.declares("claimed"), loaded.declares("delta")) == (50, 0.2, 0.05)
    assert declared(None, None) == 4

    @auditor.subject(size=lambda nothing: 1)
    def wrong(sample: Any, r: Any) -> int:
        return 1

    with pytest.raises(UsageError, match="nothing"):
        load_subject(wrong).declares("size")


def test_a_source_may_be_a_function_of_parameters_and_one_of_rng_and_size_is_a_source() -> None:
    def bits(rng: Any, size: int) -> Any:
        return rng.integers(2, size=size)

    @auditor.subject(source=lambda d: f"randint(0, {d})", size=4)
    def by_d(sample: Any, r: Any, *, d: int = 2) -> int:
        return int(sample.max())

    @auditor.subject(source=bits, size=4)
    def drawn(sample: Any, r: Any, *, d: int = 2) -> int:
        return int(sample.max())

    assert load_subject(by_d).source == "randint(0, 2)"
    assert load_subject(by_d, {"d": 9}).source == "randint(0, 9)"
    assert load_subject(drawn).source is bits
    assert bench_of(by_d, params={"d": 7}).source.spec == "randint(0, 7)"


def test_a_declaration_that_refuses_its_parameters_is_a_sentence() -> None:
    """Also where it does so with what `auditor` itself raises."""
    for error in (ValueError("share=2 must be less"), BadValue("share", 2, "must be less")):

        def size(share: int, error: Exception = error) -> int:
            raise error

        @auditor.subject(size=size)
        def refused(sample: Any, r: Any, *, share: int = 2) -> int:
            return share

        with pytest.raises(UsageError, match="refused: share=2 must be less"):
            load_subject(refused).declares("size")


def test_an_expectation_other_than_pass_needs_a_reason() -> None:
    with pytest.raises(UsageError, match="needs a reason"):
        auditor.subject(expect="fail")
    with pytest.raises(UsageError, match="must be one of"):
        auditor.subject(expect="maybe", reason="why")


def test_an_attribute_that_is_no_declaration_is_refused() -> None:
    def learner(sample: Any, r: Any) -> int:
        return 1

    learner.__auditor__ = "junk"  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match=r"learner.__auditor__='junk' must be what @auditor.subject.* another name"):
        load_subject(learner)


def test_a_function_that_wraps_itself_is_refused() -> None:
    def learner(sample: Any, r: Any) -> int:
        return 1

    learner.__wrapped__ = learner  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="learner wraps itself: its __wrapped__ must lead to the function underneath"):
        load_subject(learner)


def test_only_what_another_process_can_find_is_importable() -> None:
    assert importable_name(plain) == f"{HERE}:plain"
    assert importable_name(Nested.method) == f"{HERE}:Nested.method"
    assert importable_name(lambda sample, r: 1) is None
    assert importable_name(np.mean) == "numpy:mean"
    assert importable_name(3) is None


def test_the_code_hash_follows_the_file(tmp_path: Path) -> None:
    file = tmp_path / "learner.py"
    file.write_text("def fn(sample, r):\n    return 1\n")
    before = code_hash(find_object(f"{file}:fn"))
    file.write_text("def fn(sample, r):\n    return 2\n")
    assert before != code_hash(find_object(f"{file}:fn"))
    assert code_hash(len) is None


@pytest.mark.parametrize("tau", [1e-300, 1e-160])
def test_what_floats_cannot_hold_is_a_sentence(tau: float) -> None:
    loaded = load_subject("algorithms.statistical_query:rstat", {"tau": tau})
    with pytest.raises(UsageError, match=r"declared size cannot be computed at these parameters .*: use less extreme"):
        loaded.declares("size")


def test_the_table_of_bundled_subjects_is_what_the_package_declares() -> None:
    """`python -m auditor.subjects.table algorithms > algorithms/subjects.json` writes it anew."""
    declared = {target.rpartition(":")[2]: target for target in declared_targets("algorithms", listed=True)}
    text = Path(algorithms.__file__).with_name("subjects.json").read_text()
    assert text == table_of("algorithms")
    assert {name: one["target"] for name, one in json.loads(text).items()} == declared
    for name, one in offered_subjects().items():
        subject = load_subject(one.target)
        values = {"claimed": subject.declares("claimed"), "size": subject.declares("size")}
        values |= {"theorem": subject.declared.theorem, "expect": subject.declared.expect}
        assert one.shown == {"target": one.target, **values}, name
        assert {kind: type(one.shown[kind]) for kind in values} == {kind: type(value) for kind, value in values.items()}
    assert {*declared_targets("algorithms")} - {*declared.values()} == {"algorithms.amplification:amplified_base"}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Packages as an installation leaves them behind, on the path of this process."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(points: str, **packages: str) -> None:
        about = tmp_path / f"{'_'.join(packages)}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {'-'.join(packages)}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[auditor.subjects]\n{points}\n")
        for name, text in packages.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(text)
        importlib.invalidate_caches()

    return install


DECLARED = "import auditor\n@auditor.subject({})\ndef {}(sample, r): return 0\n"


def test_a_package_registers_what_it_declares_with_one_line(installed: Callable[..., None]) -> None:
    shown, hidden = DECLARED.format("size=3", "wide"), DECLARED.format("listed=False", "narrow")
    installed("mine = theirs_a\nshort = theirs_a:wide", theirs_a=shown + hidden)
    known = registered_subjects()
    assert (known["wide"], known["short"]) == ("theirs_a:wide", "theirs_a:wide")
    assert "narrow" not in known
    assert "mine" not in known


def test_what_is_installed_is_read_once_and_again_only_after_a_new_installation(
    installed: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = lookup.installed()._replace(groups={"auditor.subjects": {"told": "theirs_f:told"}, "auditor.questions": {}})
    monkeypatch.setattr(lookup, "_told", [])
    lookup.know_installed(told)  # as a host hears it
    (tmp_path / "work").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "work")  # where nothing is installed
    assert [*registered_subjects()] == ["told"]
    installed("new = theirs_f:new", theirs_f="")
    assert {"new", "rstat"} <= {*registered_subjects()}
    assert "told" not in registered_subjects()


def test_one_name_of_two_packages_gets_a_sentence(installed: Callable[..., None]) -> None:
    installed("a = theirs_b\nb = theirs_c", **dict.fromkeys(("theirs_b", "theirs_c"), DECLARED.format("", "same_name")))
    with pytest.raises(UsageError, match="'same_name' is registered twice, as theirs_b:same_name and as theirs_c"):
        load_subject("same_name")
    assert load_subject("theirs_b:same_name").name == "theirs_b:same_name"


def test_a_broken_package_keeps_nobody_from_the_others(
    installed: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    installed("a = theirs_d\nb = theirs_e.inner\nc = gone", theirs_d="raise RuntimeError('\\x1b[2J')", theirs_e="1 / 0")
    assert load_subject("rstat").name == "algorithms.statistical_query:rstat"
    said = capsys.readouterr().err
    assert all(f"the subjects of the package {name!r} are left out" in said for name in ("theirs_d", "gone"))
    assert "\x1b" not in said


def test_a_table_says_what_a_package_offers_without_an_import(
    installed: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed("a = theirs_h\nb = theirs_i", theirs_h="1 / 0", theirs_i="1 / 0")
    whole = {"target": "theirs_h:whole", "theorem": None, "claimed": 0.1, "size": 3, "expect": "pass"}
    table = {"whole": whole, "part": {"target": "theirs_h:part", "size": 3}, "bare": "theirs_h:bare"}
    (tmp_path / "theirs_h" / "subjects.json").write_text(json.dumps(table))
    (tmp_path / "theirs_i" / "subjects.json").write_text('{"lost": {"size": 3}}')
    offered = offered_subjects()
    assert {name: offered[name] for name in table} == {
        "whole": ("theirs_h:whole", whole),
        "part": ("theirs_h:part", None),
        "bare": ("theirs_h:bare", None),
    }
    assert "lost" not in offered
    assert "the subjects of the package 'theirs_i' are left out" in capsys.readouterr().err
    assert not {"theirs_h", "theirs_i"} & {*sys.modules}


def test_a_name_is_found_without_an_import_where_nothing_may_run(installed: Callable[..., None]) -> None:
    installed("a = theirs_f\nb = theirs_g.inner", theirs_f=DECLARED.format("", "found"), theirs_g="1 / 0")
    assert full_target("rstat", runs=False) == "algorithms.statistical_query:rstat"
    assert "found" not in registered_subjects(runs=False)
    assert not {"theirs_f", "theirs_g"} & {*sys.modules}
    assert registered_subjects()["found"] == "theirs_f:found"
