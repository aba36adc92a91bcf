"""Submissions that call a library, and the certification of a library's metric.  May import workflows and what is below."""
