"""Runs of a pair with one cause of a difference taken away: hidden state, hash seeds, threads, draws out of step.

hidden.py        what moves between runs; kept_state.py, where code keeps things; outside.py and files.py, the rest
keyed_sites.py   draws from r by the line that draws; locals_trace.py, the first local variable that differs
elsewhere.py     runs in processes with other hash seeds and threads
"""
