"""What several tasks share: sampling, transformations, correlations, consistency checks.  May import `tasks.data`."""
