"""What one trial is, where its samples and r come from, and whether the subject is fit for one.

trial.py            a pair of runs; integrated.py, a pair of cores and many finishes; blocks.py, trials in a host
cell.py             what is audited, settled; identity.py, the same as data
preflight.py        is it a function of (sample, r)? fresh_rows.py, does the source draw fresh rows?
second_process.py   runs in another process; other_version.py and version_there.py, runs of other code
advice.py           what would pass in place of what failed; likeness.py, what two outputs have in common
causes/             pairs with one cause of a difference taken away
"""
