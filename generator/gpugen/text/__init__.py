"""Text: how values are written as YAML, spelled in messages, and kept secret there."""
