"""Submission files: headers, entries and their selection.  May import `harness.base` and `harness.models`."""
