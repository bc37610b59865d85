"""The GPU algebra: devices, labels, what a cluster will see of a pool, MIG, metrics."""
