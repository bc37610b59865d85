"""Judging the shape of a spec: one schema of all parts, and its errors in words for people."""
