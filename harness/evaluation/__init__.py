"""Tasks, metric sessions, and the run that evaluates entries on a suite.  May import every other part of `harness`."""
