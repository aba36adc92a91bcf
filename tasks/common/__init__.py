"""Helpers that several tasks share: sampling, transformations, correlations, consistency checks."""
