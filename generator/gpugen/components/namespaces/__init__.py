"""Components: the namespaces."""
