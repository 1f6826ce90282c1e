"""Prints when imported, and keeps hold of the standard output of that moment."""

import sys

print("imported")
_out = sys.stdout


def fine(sample, r):
    return 0


def keeps_stream(sample, r):
    print("from the subject", file=_out)
    return 0
