"""Reading of one YAML file: guards, a plain and a careful reader, positions, layers."""
