"""The tasks, the suites that fix their parameters, and the datasets they use.  May import `harness`."""
