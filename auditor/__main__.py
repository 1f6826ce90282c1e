"""`python -m auditor`, and the console script."""

# Nothing is imported here, or in auditor/__init__.py, that a file of the working folder could stand in for: `python -m`
# has put that folder first on the path, and `os` and `sys` alone are loaded by then. So there is no __future__ either.
import os
import sys


def main() -> None:
    """Run a command and exit with its code: the entry point of `python -m auditor` and of the script `auditor`."""
    _hide_working_folder()
    if sys.argv[1:] in (["-h"], ["--help"], ["--version"]) and None not in (sys.stdin, sys.stdout, sys.stderr):
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _leave(_run())
    _open_standard_descriptors()
    from auditor.errors import listen

    listen()
    _leave(_run())


def _open_standard_descriptors() -> None:
    """Open standard descriptors that are closed: each would become the next file that is opened, a ledger say."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _hide_working_folder() -> None:
    """Take the working folder off the path: only hosts, which run somebody's code, look there.

    `python -m` and empty entries of PYTHONPATH put it before the standard library. What comes after the library is
    installed and stays; and so does the folder that auditor itself is in, but as the last one.
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it was removed: nothing can be imported from it
        return
    library = os.path.dirname(os.__file__)
    end = sys.path.index(library) if library in sys.path else len(sys.path)
    sys.path[:end] = [place for place in sys.path[:end] if os.path.realpath(place) != here]
    own = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    if own == here and own not in map(os.path.realpath, sys.path):
        sys.path.append(own)


def _run() -> int:
    """Run the command line; everything heavy is imported here."""
    import gc

    gc.disable()  # what is loaded here is no garbage; whoever runs code enables it
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # runs compute in one thread: no others that wait for work
    from auditor.cli.command_line import run

    return run()


def _leave(code: int) -> None:
    """End this process as sys.exit does, but leave its memory to the system: to take it apart takes longer."""
    import atexit
    import contextlib

    if sys.gettrace() or sys.getprofile():  # a debugger or a profiler has something to say at the end
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # there is none, or nobody takes it any more
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
