"""Faults around a run: when the learner is imported, in its source, its oracle, its view, and what it declares."""

from __future__ import annotations

from typing import Any

from fault import FAILS, FAULT, PASSES, ROWS, USAGE, Fault

_REFUSED = (USAGE, FAULT)


def importing(name: str, before: str, *codes: int, **more: Any) -> Fault:
    return Fault("import", name, "pass", codes or _REFUSED, before=before, **{"record": False, **more})


IMPORT = (
    importing("raises", "raise ValueError('no')", words="ValueError"),
    importing("exits by sys.exit(0)", "sys.exit(0)", words="SystemExit"),
    importing("exits by os._exit(0)", "os._exit(0)", FAULT, ci=True),
    importing("is killed", "os.kill(os.getpid(), signal.SIGKILL)", FAULT),
    importing("segfaults", "import ctypes\nctypes.string_at(0)", FAULT),
    importing("raises a BaseException", "class Mine(BaseException): pass\nraise Mine", FAULT, words="Mine"),
    importing("raises GeneratorExit", "raise GeneratorExit", FAULT, words="GeneratorExit"),
    importing("raises KeyboardInterrupt", "raise KeyboardInterrupt", FAULT, words="KeyboardInterrupt"),
    importing(
        "raises what cannot be shown", "class Mine(Exception):\n    def __str__(self): raise SystemExit\nraise Mine"
    ),
    importing("recurs for ever", "def f(): f()\nf()", words="RecursionError"),
    importing("is no Python", "def (:", words="SyntaxError"),
    importing("has a null byte", "x = '\0'"),
    importing("misses a module", "import nowhere_to_be_found", words="nowhere_to_be_found"),
    importing("takes its name away", "del sys.modules[__name__]", PASSES, *_REFUSED),
    importing("has attributes that raise", "def __getattr__(name): raise SystemExit(0)", PASSES, *_REFUSED),
    importing("prints ten megabytes", "print('x' * 10**7)", PASSES),
    importing("starts a thread", "threading.Thread(target=time.sleep, args=(600,)).start()", PASSES),
    importing("starts a child", "import subprocess\nsubprocess.Popen(['sleep', '600'])", PASSES),
    importing("closes standard output", "os.close(1)", PASSES),
    importing("changes its folder", "os.chdir('/')", PASSES, *_REFUSED),
    importing("raises click's Exit(0)", "import click\nraise click.exceptions.Exit(0)", words="Exit"),
)


def _function(head: str, body: str) -> str:
    return "\n".join(["KEPT = []", head, *(f"    {line}" for line in body.splitlines())])


def source(name: str, body: str, *codes: int, **more: Any) -> Fault:
    text = _function("def rows(rng, size):", body)
    return Fault("source", name, "return float(sample[0])", codes or (FAULT,), before=text, **{"record": False, **more})


SOURCE = (
    source("raises", "raise ValueError('no')", words="raised ValueError"),
    source("raises a BaseException", "raise type('Mine', (BaseException,), {})", words="raised Mine", ci=True),
    source("raises GeneratorExit", "raise GeneratorExit", words="raised GeneratorExit"),
    source("exits by sys.exit(0)", "sys.exit(0)", words="raised SystemExit"),
    source("exits by os._exit(0)", "os._exit(0)"),
    source("is killed", "os.kill(os.getpid(), signal.SIGKILL)"),
    source("raises KeyboardInterrupt", "raise KeyboardInterrupt", words="raised KeyboardInterrupt"),
    source("raises click's Exit(0)", "import click\nraise click.exceptions.Exit(0)", words="raised Exit"),
    source("raises an error of ours", "from auditor.errors import UsageError\nraise UsageError('x')", words="raised"),
    source("raises what cannot be shown", "raise type('Mine', (Exception,), {'__str__': lambda self: 1 / 0})"),
    source("returns None", "return None", words="returned"),
    source("returns too few", "return rng.random(max(0, size - 1))", words="rows where"),
    source("returns too many", "return rng.random(size + 1)", words="rows where"),
    source("returns files", "return [open(os.devnull) for _ in range(size)]", words="its rows cannot be copied"),
    source("returns a number", "return 1.0", words="returned"),
    source("returns an array of no dimension", "return np.array(1.0)", words="returned"),
    source("returns NaN", "return np.full(size, np.nan)", words="NaN"),
    source("returns a generator", "return (x for x in rng.random(size))", words="returned"),
    source(
        "returns labels that are too few", "return rng.random(size), rng.random(max(0, size - 1))", words="rows where"
    ),
    source("ignores rng", "return np.random.default_rng(0).random(size)", words="ignores its generator"),
    source(
        "is not a function of rng", "return np.random.default_rng().random(size)", words="not a function of (rng, size)"
    ),
    source("counts its calls", "KEPT.append(0)\nreturn rng.random(size) + len(KEPT)"),
    source("its length raises", "return type('Mine', (), {'__len__': lambda self: 1 / 0})()"),
    source("its length exits", "return type('Mine', (), {'__len__': lambda self: sys.exit(0)})()"),
    source("its length lies", "return type('Mine', (), {'__len__': lambda self: size})()"),
    source(
        "an array whose least raises",
        "return rng.random(size).view(type('M', (np.ndarray,), {'min': lambda self: 1/0}))",
    ),
    source("hostile words", "raise ValueError('[/b] \\x1b[31m \\udc80')", words="raised ValueError"),
    source(
        "raises later", "if rng.random() == LATE: raise ValueError\nreturn rng.random(size)", words="raised ValueError"
    ),
    source("shares its array", "KEPT[:] = rng.random(size).tolist()\nreturn KEPT", FAULT, FAILS),
)
_DECLARES = "import auditor\n"


def oracle(name: str, body: str, *codes: int, learner: str = "pass", **more: Any) -> Fault:
    text = _DECLARES + _function("def judge(output, *, source, r, params):", body)
    after = "auditor.subject(accuracy=judge, delta=0.05)(learner)"
    return Fault("oracle", name, learner, codes or (FAULT,), before=text, after=after, **more)


def view(name: str, body: str, *codes: int, learner: str = "pass", see: str = "mine:see", **more: Any) -> Fault:
    text = _function("def see(output, *more):", body)
    options = (*ROWS, "--view", see)
    return Fault("view", name, learner, codes or (FAULT,), before=text, options=options, **more)


JUDGES = (
    oracle("raises", "raise ValueError('no')", words="raised ValueError"),
    oracle("raises a BaseException", "raise type('Mine', (BaseException,), {})", words="raised Mine", ci=True),
    oracle("exits by sys.exit(0)", "sys.exit(0)", words="raised SystemExit"),
    oracle("exits by os._exit(0)", "os._exit(0)", record=False),
    oracle("raises KeyboardInterrupt", "raise KeyboardInterrupt", words="raised KeyboardInterrupt"),
    oracle("says nothing", "return None", FAILS),
    oracle("says several things", "return np.array([True, False])", words="raised ValueError"),
    oracle("says what raises", "return type('M', (), {'__bool__': lambda self: sys.exit(0)})()", words="SystemExit"),
    oracle("changes the output", "output.clear()\nreturn True", FAILS, learner="return [float(sample[0])]"),
    oracle("raises an error of ours", "from auditor.errors import UsageError\nraise UsageError('x')", FAULT, USAGE),
    view("raises", "raise ValueError('no')", words="raised ValueError"),
    view("raises a BaseException", "raise type('Mine', (BaseException,), {})", words="raised Mine"),
    view("exits by sys.exit(0)", "sys.exit(0)", words="raised SystemExit"),
    view("exits by os._exit(0)", "os._exit(0)", record=False, ci=True),
    view("raises KeyboardInterrupt", "raise KeyboardInterrupt", words="raised KeyboardInterrupt"),
    view("sees a lambda", "return lambda: 0"),
    view("sees itself", "x = []\nx.append(x)\nreturn x"),
    view("shares what it sees", "KEPT[:] = [output]\nreturn KEPT", FAILS, learner="return sample[0]"),
    view("wants more than an output", "return more[0]"),
    view("changes the output", "output.clear()\nreturn output", PASSES, learner="return [float(sample[0])]"),
    view(
        "an attribute that raises",
        "pass",
        see="attr(x)",
        learner="return type('M', (), {'x': property(lambda self: 1 / 0)})()",
    ),
    view(
        "an attribute that raises a BaseException",
        "pass",
        see="attr(x)",
        learner="return type('M', (), {'x': property(lambda self: (_ for _ in ()).throw(GeneratorExit))})()",
    ),
    view("predicts nothing", "pass", see="predict", learner="return 3"),
    view(
        "predict raises", "pass", see="predict", learner="return type('M', (), {'predict': lambda *_: sys.exit(0)})()"
    ),
    view("a sign of words", "pass", see="sign", learner="return 'x'"),
    view("the largest of none", "pass", see="argmax", learner="return []"),
)


def declaring(name: str, declared: str, *codes: int, options: tuple[str, ...] = ROWS[:2], **more: Any) -> Fault:
    after = f"auditor.subject({declared})(learner)"
    keywords = {"record": False, "before": _DECLARES, **more}
    return Fault("declaration", name, "pass", codes or (USAGE,), after=after, options=options, **keywords)


DECLARATIONS = (
    declaring("a size that raises", "size=lambda: 1 / 0", words="ZeroDivisionError", ci=True),
    declaring("a size that raises ValueError", "size=lambda: int('x')"),
    declaring("a size that exits", "size=lambda: sys.exit(0)", *_REFUSED, words="SystemExit"),
    declaring("a size that exits for good", "size=lambda: os._exit(0)", FAULT),
    declaring("a size that raises a BaseException", "size=lambda: (_ for _ in ()).throw(GeneratorExit)", *_REFUSED),
    declaring("a size of words", "size=lambda: 'many'", words="size"),
    declaring("a size of NaN", "size=lambda: float('nan')", words="size"),
    declaring("a size of infinity", "size=lambda: 1e400", words="size"),
    declaring("a negative size", "size=-1", words="size"),
    declaring("a half of a row", "size=2.5", words="size"),
    declaring("a size of None", "size=lambda: None", words="size"),
    declaring("a size of a list", "size=lambda: [3]", words="size"),
    declaring("a size that asks for what there is not", "size=lambda nothing: 3", words="nothing"),
    declaring("a claim above 1", "size=5, claimed=2.0", USAGE, words="claimed"),
    declaring("a claim of NaN", "size=5, claimed=lambda: float('nan')", USAGE, words="claimed"),
    declaring("a claim of words", "size=5, claimed=lambda: 'small'", USAGE, words="claimed"),
    declaring("a delta of NaN", "size=5, delta=float('nan'), accuracy=lambda output, **_: True", words="nan"),
    declaring("a delta of words", "size=5, delta=lambda: 'x', accuracy=lambda output, **_: True", words="delta"),
    declaring("a note that raises", "size=5, note=lambda: 1 / 0", *_REFUSED, words="note"),
    declaring("an accuracy that is none", "size=5, accuracy=3, delta=0.1", *_REFUSED),
    declaring("a view that is none", "size=5, view='nothing of the kind'", words="view"),
    declaring("an expectation that is none", "size=5, expect='perhaps'", words="expect"),
    declaring("a sample that is none", "size=5, sample='heap'", words="sample"),
    declaring("a source that is none", "size=5, source=3", words="source", options=()),
    Fault("declaration", "junk", "pass", _REFUSED, after="learner.__auditor__ = 'junk'", record=False),
    Fault("declaration", "a coroutine", "pass", (USAGE,), after="async def learner(sample, r): pass", record=False),
    Fault("declaration", "a generator", "yield 3", (USAGE,), record=False),
    Fault("declaration", "too few parameters", "pass", (USAGE,), after="def learner(sample): pass", record=False),
    Fault("declaration", "no function", "pass", (USAGE,), after="learner = 3", record=False, words="int"),
    Fault("declaration", "a class", "pass", (*_REFUSED,), after="class learner: pass", record=False),
    Fault("declaration", "an annotation that raises", "pass", (0,), after="learner.__annotations__ = {'r': '1 / 0'}"),
    Fault(
        "declaration",
        "a signature that raises",
        "pass",
        (PASSES, *_REFUSED),
        after="class L:\n    __signature__ = property(lambda self: sys.exit(0))\n"
        "    def __call__(self, sample, r): return 1\nlearner = L()",
        record=False,
    ),
    Fault(
        "declaration", "wraps itself", "pass", (PASSES, *_REFUSED), after="learner.__wrapped__ = learner", record=False
    ),
)
IN_SURROUNDINGS = IMPORT + SOURCE + JUDGES + DECLARATIONS
