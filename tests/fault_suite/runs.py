"""Faults inside a run: it raises, it ends its process, it hangs, it takes all memory."""

from __future__ import annotations

import signal
from typing import Any

from fault import FAILS, FAULT, INTERRUPTED, PASSES, ROWS, Fault


def raising(name: str, body: str, **more: Any) -> Fault:
    return Fault("raises", name, body, **{"words": "run of pair", **more})


RAISES = (
    raising("ValueError", "raise ValueError('no')", words="raised ValueError in the first run of pair 0"),
    raising("ValueError", "raise ValueError('no')", words="raised ValueError in the second run of pair 5", late=True),
    raising("no message", "raise RuntimeError", words="raised RuntimeError"),
    raising("KeyError", "{}[sample[0]]", words="raised KeyError"),
    raising("ZeroDivisionError", "1 / 0", words="raised ZeroDivisionError"),
    raising("AssertionError", "assert False", words="raised AssertionError"),
    raising("SystemExit(0)", "sys.exit(0)", words="raised SystemExit"),
    raising("SystemExit(0)", "sys.exit(0)", words="raised SystemExit", late=True),
    raising("SystemExit of words", "sys.exit('PASS')", words="raised SystemExit"),
    raising("GeneratorExit", "raise GeneratorExit", words="raised GeneratorExit"),
    raising("StopIteration", "next(iter(()))", words="raised StopIteration"),
    raising("StopIteration", "next(iter(()))", words="raised StopIteration", late=True),
    raising("StopAsyncIteration", "raise StopAsyncIteration", words="raised StopAsyncIteration"),
    raising(
        "KeyboardInterrupt", "raise KeyboardInterrupt", words="raised KeyboardInterrupt in the first run of pair 0"
    ),
    raising("CancelledError", "import asyncio\nraise asyncio.CancelledError", words="raised CancelledError"),
    raising(
        "a BaseException of its own", "raise Mine('x')", before="class Mine(BaseException): pass", words="raised Mine"
    ),
    raising(
        "a BaseException of its own",
        "raise Mine('x')",
        before="class Mine(BaseException): pass",
        words="raised Mine in the second run of pair 5",
        late=True,
    ),
    raising("MemoryError", "raise MemoryError", words="raised MemoryError"),
    raising("a petabyte", "np.ones(10**15)", words="MemoryError"),
    raising("RecursionError", "learner(sample, r)", words="raised RecursionError"),
    raising("RecursionError", "learner(sample, r)", words="raised RecursionError", late=True),
    raising("BrokenPipeError", "raise BrokenPipeError", words="raised BrokenPipeError"),
    raising("OSError of a full disk", "raise OSError(28, 'No space left on device')", words="raised OSError"),
    raising("TimeoutError", "raise TimeoutError", words="raised TimeoutError"),
    raising("EOFError", "raise EOFError", words="raised EOFError"),
    raising("FloatingPointError", "with np.errstate(all='raise'):\n    np.float64(1) / 0", words="FloatingPointError"),
    raising("SyntaxError", "compile('(', 'x', 'exec')", words="raised SyntaxError"),
    raising("SyntaxError of bytes", "raise SyntaxError('x', ('x.cfg', 3, 1, b'a = = b'))", words="raised SyntaxError"),
    raising("SyntaxError of bytes", "raise SyntaxError('x', ('x.cfg', 3, 1, b'='))", words="SyntaxError", late=True),
    raising(
        "it holds an object whose class has no hash",
        "raise ValueError(Mine())",
        before="class Meta(type):\n    def __eq__(cls, other): return cls is other\nclass Mine(metaclass=Meta): pass",
        words="raised ValueError",
    ),
    raising(
        "its args raise",
        "raise Mine",
        before="class Mine(Exception):\n    args = property(lambda self: 1 / 0)",
        words="raised Mine",
    ),
    raising("a warning that is an error", "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('w')"),
    raising("ExceptionGroup", "raise ExceptionGroup('g', [ValueError('a'), ExceptionGroup('h', [OSError()])])"),
    raising("BaseExceptionGroup", "raise BaseExceptionGroup('g', [SystemExit(0), KeyboardInterrupt()])"),
    raising("its str raises", "raise Mine", before="class Mine(Exception):\n    def __str__(self): raise ValueError"),
    raising(
        "its str raises a BaseException",
        "raise Mine",
        before="class Mine(Exception):\n    def __str__(self): raise SystemExit(0)",
    ),
    raising(
        "its repr and str recur",
        "raise Mine",
        before="class Mine(Exception):\n    def __str__(self): return str(self)\n    __repr__ = __str__",
    ),
    raising("it cannot be pickled", "raise ValueError(threading.Lock())", words="raised ValueError"),
    raising(
        "it cannot be unpickled",
        "raise Mine(1, 2)",
        before="class Mine(Exception):\n    def __init__(self, a, b): super().__init__('x')",
        words="raised Mine",
    ),
    raising(
        "its reduce exits",
        "raise Mine",
        before="class Mine(Exception):\n    def __reduce__(self): os._exit(0)",
        words="raised Mine",
    ),
    raising(
        "it lies about its class",
        "raise Mine",
        before="class Mine(Exception):\n    __class__ = property(lambda self: KeyboardInterrupt)",
    ),
    raising("a name of escapes", "raise type('\\x1b[31m[/b]', (Exception,), {})('x')"),
    raising("ten megabytes of message", "raise ValueError('x' * 10**7)", words="raised ValueError"),
    raising("lone surrogates", "raise ValueError('\\udc80 \\u202e [/b]')", words="raised ValueError"),
    raising("a circle of causes", "e = ValueError('x')\ne.__cause__ = e\nraise e", words="raised ValueError"),
    raising("notes that are none", "e = ValueError('x')\ne.__notes__ = 3\nraise e", words="raised ValueError"),
    raising("click.Abort", "import click\nraise click.Abort", words="raised Abort"),
    raising("click's Exit(0)", "import click\nraise click.exceptions.Exit(0)", words="raised Exit", ci=True),
    raising("click.UsageError", "import click\nraise click.UsageError('x')", words="raised UsageError"),
    raising("an error of ours", "from auditor.errors import UsageError\nraise UsageError('x')", words="pair"),
    raising("a deep cause", "try: 1 / 0\nexcept Exception as e: raise ValueError from e", words="raised ValueError"),
)


def ending(name: str, body: str, **more: Any) -> Fault:
    return Fault("exits", name, body, **{"record": False, **more})


_HEARD_OR_NOT = (PASSES, FAULT, INTERRUPTED)  # Ctrl-C is the command's business, and a worker hears none
_TELLS_APART = "return float(sample[0])"  # a learner that fails
EXITS = (
    ending("os._exit(0)", "os._exit(0)", ci=True),
    ending("os._exit(0)", "os._exit(0)", late=True, words="mine"),
    ending("os._exit(1)", "os._exit(1)"),
    ending("os._exit(2)", "os._exit(2)", late=True),
    ending("os._exit(3)", "os._exit(3)"),
    ending("os._exit(130)", "os._exit(130)", late=True),
    *(
        ending(f"kills itself by {name}", f"os.kill(os.getpid(), signal.{name})", late=late)
        for name, late in (
            ("SIGKILL", True),
            ("SIGSEGV", False),
            ("SIGABRT", True),
            ("SIGBUS", False),
            ("SIGILL", False),
            ("SIGFPE", True),
            ("SIGHUP", False),
            ("SIGUSR1", True),
            ("SIGALRM", False),
            ("SIGQUIT", False),
        )
    ),
    ending("SIGTERM to itself", "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(5)", codes=(FAULT, INTERRUPTED)),
    ending("SIGINT to itself", "os.kill(os.getpid(), signal.SIGINT)", codes=_HEARD_OR_NOT),
    ending(
        "SIGKILL to its group", "os.killpg(0, signal.SIGKILL)", codes=(FAULT, -signal.SIGKILL)
    ),  # all who could speak
    ending("SIGTERM to its group", "os.killpg(0, signal.SIGTERM)\ntime.sleep(5)", codes=(FAULT, INTERRUPTED)),
    ending("interrupts the main thread", "import _thread\n_thread.interrupt_main()", codes=_HEARD_OR_NOT),
    ending("a timer that kills", "signal.setitimer(signal.ITIMER_REAL, 0.001)\ntime.sleep(5)"),
    ending("os.abort", "os.abort()"),
    ending("a null pointer", "import ctypes\nctypes.string_at(0)"),
    ending("a null pointer", "import ctypes\nctypes.string_at(0)", late=True),
    ending("exec of true", "os.execv('/bin/true', ['true'])"),
    ending("exec of true", "os.execv('/bin/true', ['true'])", late=True),
    ending("exec of an interpreter", "os.execv(sys.executable, [sys.executable, '-c', ''])"),
    ending("a thread that exits", "threading.Thread(target=os._exit, args=(0,)).start()\ntime.sleep(5)"),
    ending("C's exit(0)", "import ctypes\nctypes.CDLL(None).exit(0)"),
    ending("no stack is left", "sys.setrecursionlimit(10**9)\nf = lambda _: sorted([0], key=f)\nf(0)"),
    ending("exits in atexit", _TELLS_APART, before="import atexit\natexit.register(os._exit, 0)", codes=(FAILS,)),
    ending("sys.exit replaced", f"sys.exit = lambda *_: os._exit(0)\n{_TELLS_APART}", codes=(FAILS,)),
    ending(
        "exits when the interpreter ends",
        f"threading.Thread(target=lambda: (threading.main_thread().join(), os._exit(0))).start()\n{_TELLS_APART}",
        codes=(FAILS,),
    ),
    ending("os._exit replaced", f"os._exit = lambda *_: None\n{_TELLS_APART}", codes=(FAILS,)),
    ending("SystemExit in a thread", "threading.Thread(target=sys.exit, args=(3,)).start()", codes=(PASSES,)),
)
_LIMITED = (*ROWS, "--timeout", "1")


def hanging(name: str, body: str = "pass", **more: Any) -> Fault:
    return Fault("hangs", name, body, **{"options": _LIMITED, "words": "still running after 1 s", **more})


HANGS = (
    hanging("sleeps", "time.sleep(1000)", ci=True),
    hanging("sleeps", "time.sleep(1000)", late=True, words="in the second run of pair 5"),
    hanging("is busy", "while True: pass"),
    hanging(
        "waits for a lock", "threading.Lock().acquire() and (lock := threading.Lock()).acquire() and lock.acquire()"
    ),
    hanging("is busy in C", "import re\nre.match('(a+)+$', 'a' * 60 + 'b')"),
    hanging("waits for a pipe", "os.read(os.pipe()[0], 1)"),
    hanging("waits for a signal", "signal.pause()"),
    hanging("ignores signals", "for s in (2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(1)"),
    hanging("blocks signals", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: time.sleep(1)"),
    hanging("waits for a child", "import subprocess\nsubprocess.run(['sleep', '1000'])"),
    hanging("waits for a thread", "t = threading.Thread(target=time.sleep, args=(1000,))\nt.start()\nt.join()"),
    hanging("stops itself", "os.kill(os.getpid(), signal.SIGSTOP)", words="pair 0"),
    hanging("catches everything", "while True:\n    try: time.sleep(1)\n    except BaseException: pass"),
    hanging(
        "in its output",
        "return Mine()",
        before="class Mine:\n    @property\n    def __dict__(self): time.sleep(1000)",
        words="gave an output that was still being read after 1 s (--timeout) in the first run of pair 0",
    ),
    hanging(
        "in its source",
        before="def rows(rng, size):\n    time.sleep(1000)",
        words="source mine:rows was still drawing after 1 s (--timeout) in the first run of pair 0",
    ),
    hanging(
        "in its oracle",
        before="import auditor\ndef judge(output, **_): time.sleep(1000)",
        after="auditor.subject(accuracy=judge, delta=0.5)(learner)",
        words="",
    ),
    hanging(
        "in its view", before="def see(output): time.sleep(1000)", options=(*_LIMITED, "--view", "mine:see"), words=""
    ),
    hanging(
        "under on-error bottom",
        "time.sleep(1000)",
        late=True,
        options=(*_LIMITED, "--on-error", "bottom"),
        words="pair 5",
    ),
)
_SMALL = (*ROWS, "--memory", "700M")


def filling(name: str, body: str, **more: Any) -> Fault:
    return Fault("memory", name, body, **{"options": _SMALL, "words": "pair", **more})


_LEAK = "KEPT.append(bytearray(2**25))\nreturn float(sample[0])"
MEMORY = (
    filling("a list that grows", "kept = []\nfor _ in range(2000): kept.append(bytearray(2**20))"),
    filling("a list that grows", "kept = []\nfor _ in range(2000): kept.append(bytearray(2**20))", late=True),
    filling("one array", "np.ones(2 * 10**8)"),
    filling("a string that doubles", "s = 'x'\nfor _ in range(31): s += s"),
    filling("one bytearray", "bytearray(2**30)", ci=True),
    filling("catches the error", "try: np.ones(2 * 10**8)\nexcept MemoryError: pass", codes=(PASSES,)),
    filling("shared maps", "import mmap\nm = mmap.mmap(-1, 3 * 2**29)\nfor i in range(0, len(m), 4096): m[i] = 1"),
    filling("memory of C's", "import ctypes\nassert ctypes.CDLL(None).calloc(2, 10**9), 'refused'", words="pair"),
    filling("a leak", _LEAK, before="KEPT = []", codes=(FAILS, FAULT)),
    filling(
        "a leak, and bottom",
        _LEAK,
        before="KEPT = []",
        codes=(FAILS,),
        options=(*_SMALL, "--on-error", "bottom"),
        words="FAIL",
    ),
    filling("without a limit", "np.empty(2**50)", options=ROWS, words="MemoryError"),
)
IN_RUNS = RAISES + EXITS + HANGS + MEMORY
