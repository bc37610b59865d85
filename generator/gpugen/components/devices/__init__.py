"""Components: agents that make GPUs known to Kubernetes, in the wave of the devices."""
