"""Properties of metrics, which are measured but not ranked."""
