"""Who runs trials: this process, workers, a cluster; limits and faults.

engine.py     the contract, which engine is chosen, and how blocks become trials in order
workers.py    worker processes, and what follows from a fault in one of them
cluster.py    Dask; executor.py, an executor of the caller's
"""
