"""Components: admission policies and the scheduler."""
