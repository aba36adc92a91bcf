"""Metrics that cannot run here: their questions, and answers that were computed elsewhere.  May import all of `harness`."""
