"""Broken twins: ways to get reproducibility wrong that look right.

Each is an algorithm of this package, or its core, with one step changed, as code in use has it. Each declares that it
is expected to fail and why, and is caught: `paper` has those of the paper's algorithms, `median_as_published` rMedian
as it is printed, and the other modules those of `algorithms.everyday`.
"""
