"""Hosts by name and address: ranges, reserved names, places of settings."""
