"""The profile of a generated corpus: repetition, copying, grammar, plausibility.  May import `tasks` and `harness`."""
