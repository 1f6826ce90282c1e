"""Who runs trials: this process, workers, a cluster; limits and faults."""
