"""Submissions that call a library (`touchstone wrap`), and the certification of a library's metric.  May import workflows and below."""
