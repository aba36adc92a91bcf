"""Tasks for text metrics.  May import `tasks.common` and `tasks.data`; never another task."""
