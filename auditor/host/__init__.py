"""Processes that run somebody else's code: how they are started, asked, limited, killed and reaped.

boundary.py   which functions run in a host, and what comes back
server.py     the side of whoever asks: start, messages, shared memory, end; child.py, the side of the host
limits.py     threads, memory and times; leftovers.py, what a host leaves behind
"""
