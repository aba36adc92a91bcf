"""Scores, rankings and comparisons from stored observations.  May import `tasks` and `harness`."""
