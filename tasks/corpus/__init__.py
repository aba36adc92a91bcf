"""Tasks for corpus metrics.  May import `tasks.common`, `tasks.generators` and `tasks.data`; never another task."""
