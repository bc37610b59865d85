"""A node without a GPU: a mock of NVML, a kubelet's socket, and the real programs of NVIDIA on it.

It validates predictions. Nothing of it is in the wheel, and no code of the product knows it.
"""
