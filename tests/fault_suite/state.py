"""Faults that outlive a run: outputs that are not what they seem, state of the process, prints, and what is left."""

from __future__ import annotations

from typing import Any

from fault import FAILS, FAULT, PASSES, Fault


def output(name: str, body: str, *codes: int, **more: Any) -> Fault:
    return Fault("outputs", name, body, codes or (FAULT,), **more)


_FIRST = "float(sample[0])"
_LIES = "    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n    __hash__ = lambda self: 0\n"
OUTPUTS = (
    output("a shared array", "KEPT[:] = sample\nreturn KEPT", FAILS, before="KEPT = np.zeros(5)", ci=True),
    output("a shared dict", f"KEPT['x'] = {_FIRST}\nreturn KEPT", FAILS, before="KEPT = {}"),
    output("a shared list inside", f"KEPT[:] = [{_FIRST}]\nreturn {{'a': (KEPT,)}}", FAILS, before="KEPT = []"),
    output("a shared model", f"M.x = {_FIRST}\nreturn M", FAILS, before="class Model: pass\nM = Model()"),
    output("a shared set", f"KEPT.clear()\nKEPT.add({_FIRST})\nreturn KEPT", FAILS, before="KEPT = set()"),
    output(
        "a shared bytearray", "KEPT[:] = sample.tobytes()\nreturn KEPT", FAILS, FAULT, before="KEPT = bytearray(40)"
    ),
    output(
        "its sampler's own array",
        "return sample",
        FAILS,
        before="OWN = np.empty(5)\ndef rows(rng, size):\n    OWN[:size] = rng.random(size)\n    return OWN[:size]",
    ),
    output(
        "changed by the next run",
        f"for old in KEPT: old.clear()\nnew = [{_FIRST}]\nKEPT.append(new)\nreturn new",
        FAILS,
        before="KEPT = []",
    ),
    output("an int that lies", "return Lie(int(sample[0] * 1e9))", FAILS, before=f"class Lie(int):\n{_LIES}"),
    output(
        "a float that lies",
        "return Lie(sample[0])",
        FAILS,
        before=f"class Lie(float):\n{_LIES}    __float__ = lambda s: 0.0\n    as_integer_ratio = lambda s: (0, 1)",
    ),
    output(
        "a str that lies",
        "return Lie(sample[0])",
        FAILS,
        before=f"class Lie(str):\n{_LIES}    encode = lambda self, *_: b''\n    __str__ = lambda self: ''",
    ),
    output(
        "bytes that lie",
        "return Lie(sample.tobytes())",
        FAILS,
        before=f"class Lie(bytes):\n{_LIES}    __bytes__ = lambda self: b''\n    __iter__ = lambda self: iter(())",
    ),
    output(
        "an array that lies",
        "return sample.view(Lie)",
        FAILS,
        before=f"class Lie(np.ndarray):\n{_LIES}    tobytes = lambda self, *_: b''\n    __len__ = lambda self: 0",
    ),
    output(
        "a list that lies",
        "return Lie(sample.tolist())",
        FAILS,
        before=f"class Lie(list):\n{_LIES}    __iter__ = lambda self: iter(())\n    __len__ = lambda self: 0",
    ),
    output(
        "a dict that lies",
        "return Lie(x=sample[0])",
        FAILS,
        before=f"class Lie(dict):\n{_LIES}    items = lambda self: []\n    __iter__ = lambda self: iter(())",
    ),
    output(
        "a tuple that lies",
        "return Lie(sample.tolist())",
        FAILS,
        before=f"class Lie(tuple):\n{_LIES}    __iter__ = lambda self: iter(())\n    __len__ = lambda self: 0",
    ),
    output("an object that lies", f"m = Lie()\nm.x = {_FIRST}\nreturn m", FAILS, before=f"class Lie:\n{_LIES}"),
    output(
        "its eq raises",
        "return Mine()",
        PASSES,
        before="class Mine:\n    def __eq__(self, other): raise ValueError\n    def __hash__(self): raise ValueError",
    ),
    output("an exception whose dict was asked for", "e = ValueError()\nif sample[0] > 0.5: vars(e)\nreturn e", PASSES),
    output(
        "its class has no hash",
        "return [1] if sample[0] < 0.5 else [Mine()]",
        FAULT,
        before="class Meta(type):\n    def __eq__(cls, other): return cls is other\nclass Mine(metaclass=Meta): pass",
        words="has __eq__ and no __hash__",
    ),
    output(
        "its repr raises",
        f"m = Mine()\nm.x = {_FIRST}\nreturn {{'x': [m]}}",
        FAILS,
        before="class Mine:\n    def __repr__(self): raise SystemExit(0)",
    ),
    output(
        "its attributes raise",
        "return Mine()",
        before="class Mine:\n    def __getattribute__(self, name): raise ValueError(name)",
    ),
    output(
        "its attributes raise a BaseException",
        "return Mine()",
        before="class Mine:\n    def __getattribute__(self, name): raise Base\nclass Base(BaseException): pass",
    ),
    output(
        "its attributes exit",
        "return Mine()",
        before="class Mine:\n    def __getattribute__(self, name): os._exit(0)",
        record=False,
    ),
    output(
        "its dict raises",
        "return Mine()",
        PASSES,
        FAULT,
        before="class Mine:\n    @property\n    def __dict__(self): raise SystemExit(0)",
    ),
    output(
        "its reduce raises",
        "return Mine(sample)",
        FAULT,
        before="class Mine(threading.local):\n    def __init__(self, x): self.x = x\n"
        "    def __reduce_ex__(self, _): raise GeneratorExit",
    ),
    output(
        "it lies about its class",
        f"m = Mine()\nm.x = {_FIRST}\nreturn m",
        FAILS,
        FAULT,
        before="class Mine:\n    __class__ = property(lambda self: int)",
    ),
    output("a list in itself", "x = []\nx.append(x)\nreturn x"),
    output("a dict in itself", "x = {}\nx['x'] = x\nreturn x"),
    output("an array in itself", "x = np.empty(1, object)\nx[0] = x\nreturn x"),
    output("too deep", "x = []\nfor _ in range(10**5): x = [x]\nreturn x"),
    output("a generator", "return (x for x in sample)"),
    output("a lambda", "return lambda: 0"),
    output("a lock", "return threading.Lock()"),
    output("an open file", "return open(__file__)"),
    output("a module", "return os"),
    output("a coroutine", "async def f(): pass\nc = f()\nc.close()\nreturn c"),
    output("a huge array", "return np.zeros(2 * 10**6)", PASSES),
    output("a huge number", "return 1 << 10**6", PASSES, FAULT),
    output("a huge exponent", "from decimal import Decimal\nreturn Decimal('1e99999999')"),
    output("NaN", "return [float('nan'), np.float32('nan')]", PASSES),
    output("None", "return None", PASSES),
    output("nothing of an array", "return np.empty((0, 3))", PASSES),
    output("dates that are none", "return np.array(['NaT'], 'M8[s]')", PASSES),
    output("a name of markup", "return type('[/b]\\x1b[31m', (), {})()", PASSES, FAULT),
    output("words of markup", f"return '[/b]\\x1b[31m\\u202e::error::' + str({_FIRST})", FAILS),
)


def state(name: str, body: str, *codes: int, **more: Any) -> Fault:
    return Fault("global state", name, body, codes or (PASSES,), **{"words": "" if codes else "PASS", **more})


_RAISES = "def no(*_, **__): raise ValueError('not here')\n"
STATE = (
    state("np.seterr", "np.seterr(all='raise')", ci=True),
    state("np.seterrcall", "np.seterr(all='call')\nnp.seterrcall(lambda *_: os._exit(0))"),
    state("warnings are errors", "import warnings\nwarnings.simplefilter('error')"),
    state("showwarning", f"import warnings\n{_RAISES}warnings.showwarning = no"),
    *(state(f"{s} ignored", f"signal.signal(signal.{s}, signal.SIG_IGN)") for s in ("SIGINT", "SIGTERM", "SIGCHLD")),
    state("SIGINT by default", "signal.signal(signal.SIGINT, signal.SIG_DFL)"),
    state("signals blocked", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))"),
    state(
        "a handler that raises",
        "signal.signal(signal.SIGALRM, no)\nsignal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)",
        PASSES,
        FAULT,
        before=_RAISES,
    ),
    state("a folder that is gone", "import tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)"),
    state("a folder elsewhere", "os.chdir('/')"),
    state("locale", "import locale\nlocale.setlocale(locale.LC_ALL, 'C')\nlocale.getpreferredencoding = None"),
    *(
        state(
            f"closes {', '.join(map(str, which))}", f"for d in {which}:\n    try: os.close(d)\n    except OSError: pass"
        )
        for which in ((0,), (1,), (2,), (0, 1, 2))
    ),
    state("closes all descriptors", "os.closerange(3, 1000)", PASSES, FAULT, record=False),
    state("sends its output nowhere", "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)"),
    state("stdout is None", "sys.stdout = sys.stderr = None"),
    state("closes sys.stdout", "sys.stdout.close()\nsys.__stdout__.close()\nsys.__stderr__.close()"),
    *(
        state(f"time.{clock} {how}", f"time.{clock} = {code}", before=_RAISES)
        for clock, how, code in (
            ("time", "is 0", "lambda: 0"),
            ("time", "raises", "no"),
            ("monotonic", "is 0", "lambda: 0"),
            ("perf_counter", "raises", "no"),
            ("sleep", "raises", "no"),
        )
    ),
    state("random replaced", f"import random\n{_RAISES}random.random = random.getrandbits = random.getstate = no"),
    state("random seeded", "import random\nrandom.seed(0)\nnp.random.seed(0)"),
    state("numpy's generator replaced", "np.random.Generator = np.random.Philox = np.random.default_rng = None"),
    state("json replaced", "import json\njson.dumps = json.loads = json.dump = lambda *_, **__: '{}'"),
    state("print and open replaced", "import builtins\nbuiltins.print = builtins.open = None"),
    state("os.write replaced", f"{_RAISES}os.write = no"),
    state("little recursion", "sys.setrecursionlimit(max(50, len(__import__('inspect').stack()) + 10))", PASSES, FAULT),
    state("excepthooks", "sys.excepthook = threading.excepthook = None"),
    state("no environment", "os.environ.clear()"),
    state("no path", "sys.path.clear()"),
    state("no modules", "for name in [*sys.modules]: del sys.modules[name]", PASSES, FAULT),
    state("no collection", "import gc\ngc.disable()\ngc.set_threshold(1)\ngc.freeze()"),
    state("decimal context", "import decimal\ndecimal.getcontext().prec = 1"),
    state("decimal traps", "import decimal\ndecimal.getcontext().traps[decimal.Inexact] = True"),
    state("print options", "np.set_printoptions(threshold=0, precision=0, formatter={'float': lambda x: ''})"),
    state("umask", "os.umask(0o777)", PASSES),
    state(
        "few files", "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))", PASSES, FAULT, record=False
    ),
    state("a trace function", f"{_RAISES}sys.setprofile(no)", FAULT, PASSES),
    state("logging", "import logging\nlogging.disable()\nlogging.basicConfig(level=0)"),
    state("floats of its own", "np.float64 = np.asarray = None", PASSES, FAULT),
    state("a patched fork", "os.fork = None"),
)


def printing(name: str, body: str, *codes: int, **more: Any) -> Fault:
    return Fault("prints", name, body, codes or (PASSES,), **{"words": "What the subject printed", **more})


_GITHUB = (("GITHUB_ACTIONS", "true"),)
PRINTS = (
    printing("escape sequences", "print('\\x1b[31m\\x1b]0;title\\x07')"),
    printing("a verdict", f"print('PASS  mine:learner')\nreturn {_FIRST}", FAILS, ci=True),
    printing("ten megabytes", "print('x' * 10**6)\nos.write(2, b'y' * 10**6)"),
    printing(
        "workflow commands", "print('::error::injected')\nprint('::set-output name=x::injected')", environment=_GITHUB
    ),
    printing("bytes that are no text", "os.write(1, b'\\xff\\xfe\\x00\\n')"),
    printing("no end of line", "print('x', end='')"),
    printing("to a stream that it keeps", "print('x', file=OUT, flush=True)", before="OUT = sys.__stdout__"),
    printing("from a child", "import subprocess\nsubprocess.run(['echo', 'x'])"),
    printing("from C", "import ctypes\nctypes.CDLL(None).puts(b'x')\nctypes.CDLL(None).fflush(None)"),
    printing(
        "two hundred megabytes in the second process",
        "if SECOND: [os.write(2, b'x' * 2**20) for _ in range(200)]",
        words="",
    ),
)


def leaving(name: str, body: str, *codes: int, **more: Any) -> Fault:
    return Fault("leftovers", name, body, codes or (PASSES,), **{"words": "" if codes else "PASS", **more})


_CHILD = "import subprocess\nsubprocess.Popen(['sleep', '600']"
LEFTOVERS = (
    leaving("a child", f"{_CHILD})", ci=True),
    leaving("a child with a session of its own", f"{_CHILD}, start_new_session=True)"),
    leaving("a child that ignores signals", f"{_CHILD}, preexec_fn=lambda: signal.signal(15, signal.SIG_IGN))"),
    leaving("a daemon", "if not os.fork():\n    os.setsid()\n    os.fork() or time.sleep(600)\n    os._exit(0)"),
    leaving("a child of its own late", f"{_CHILD})", late=True),
    leaving(
        "a process of multiprocessing", "import multiprocessing as m\nm.Process(target=time.sleep, args=(600,)).start()"
    ),
    leaving(
        "a pool", "import multiprocessing as m\nKEPT.append(m.Pool(1)) if len(KEPT) < 3 else 0", before="KEPT = []"
    ),
    leaving("a thread", "threading.Thread(target=time.sleep, args=(600,)).start()"),
    leaving(
        "an executor's thread",
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(1).submit(time.sleep, 600)",
    ),
    leaving("an atexit that hangs", "pass", before="import atexit\natexit.register(time.sleep, 600)"),
    leaving("an atexit that raises", "pass", before="import atexit\natexit.register(lambda: 1 / 0)"),
    leaving("a thread that waits for the end", "threading.Thread(target=threading.main_thread().join).start()"),
    leaving("a child, and dies", f"{_CHILD})\nos._exit(0)", FAULT, record=False),
    leaving("a child, and raises", f"{_CHILD})\nraise ValueError", FAULT),
    leaving("a fork that goes on", "os.fork()", PASSES, FAULT, late=True),  # once: each child would fork again
    leaving("a file of its own", "import tempfile\ntempfile.mkstemp(prefix='mine-')"),
    leaving(
        "a second process that never ends",
        "if SECOND: time.sleep(10**6)",
    ),
    leaving(
        "a thread of the second process's",
        "if SECOND: threading.Thread(target=time.sleep, args=(10**6,)).start()",
    ),
)
IN_STATE = OUTPUTS + STATE + PRINTS + LEFTOVERS
