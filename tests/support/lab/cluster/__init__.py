"""A real control plane for tests: etcd, kube-apiserver and the programs that work on it."""
