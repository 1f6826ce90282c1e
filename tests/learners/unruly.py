"""Subjects that disturb the process they run in, each in one way."""

from __future__ import annotations

import builtins
import decimal
import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np

import auditor


class Odd(BaseException):
    pass


class OddInterrupt(KeyboardInterrupt):
    pass


def rows(rng, size):
    return rng.random(size)


def raise_odd(*args, **keywords):
    raise Odd("not [bold]an[/bold] Exception")


def declare_nothing():
    raise Odd("not declared")


def odd_source(rng, size):
    raise Odd("no rows")


def leaves_generator(rng, size):
    raise GeneratorExit


def fine(sample, r):
    return 42


def odd(sample, r):
    raise Odd("no output")


def odd_interrupt(sample, r):
    raise OddInterrupt


class OddAttributes:
    def __getattribute__(self, name):
        raise Odd(name)


def odd_attributes(sample, r):
    return OddAttributes()


class OddWords(Exception):
    def __str__(self):
        raise Odd("no words")


def odd_words(rng, size):
    raise OddWords


@auditor.subject(source="unruly:rows", size=declare_nothing)
def odd_size(sample, r):
    return 0


@auditor.subject(source="unruly:rows", size=5, claimed=declare_nothing)
def odd_claim(sample, r):
    return 0


@auditor.subject(source="unruly:rows", size=5, accuracy=raise_odd)
def odd_oracle(sample, r):
    return 0


def leaves(sample, r):
    os._exit(0)


def changes_all(sample, r):
    """Whatever of the process a library might set, and some that none should."""
    np.seterr(all="raise")
    decimal.getcontext().prec = 2
    warnings.simplefilter("error")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir("/")
    time.perf_counter = time.monotonic = time.time = lambda: 0.0
    random.random = random.getrandbits = lambda *_: 0
    json.dumps = builtins.print = None
    sys.setrecursionlimit(100)
    os.environ["COLUMNS"] = "10"
    threading.excepthook = None
    gc.disable()
    return 42


def closes_everything(sample, r):
    """And leaves a child in a session of its own."""
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    os.closerange(0, 4096)
    return 42
