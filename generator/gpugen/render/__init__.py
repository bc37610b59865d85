"""Stage 6: the plan becomes a tree of files."""
