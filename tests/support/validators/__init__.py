"""Validators of rendered trees: programs that read them, and closures over what the tree says.

A validator takes a tree as it lies in git and returns complaints. It does not know how it was made.
"""
