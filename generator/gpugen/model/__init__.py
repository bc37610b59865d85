"""Frozen data that the stages hand to each other."""
