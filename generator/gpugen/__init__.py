"""gpugen: one declarative cluster GPU spec in, Ansible and Kustomize trees out."""

__version__ = "0.1.0"
