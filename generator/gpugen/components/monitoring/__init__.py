"""Components: metrics, rules and dashboards."""
