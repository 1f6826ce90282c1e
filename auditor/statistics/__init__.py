"""How sure can one be? Pure functions, each with its inequality: no I/O, no randomness.

interval.py          limits of rho that hold at every number of pairs; digits.py, how they are written
gate.py              when an audit is decided; threshold.py, by how much evidence; cost.py, after how many pairs
nu.py                strings with one usual answer; contradiction.py, a declared probability that is not true
paired.py            two versions on the same pairs; two_samples.py, by counts alone; detector.py, since when
best_of_several.py   which candidate to take; worst_case.py, what is excluded; bracket.py, the least size that will do
power_law.py         how fast rho falls; without_cause.py, whether it falls without a cause
"""
