"""Hosts by name and address: ranges, names that are taken, where the spec states a setting."""
