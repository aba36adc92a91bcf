"""Properties of metrics that are measured and never ranked.  May import `tasks.common` and `tasks.data`."""
