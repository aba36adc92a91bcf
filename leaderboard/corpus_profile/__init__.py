"""Profiles of generated corpora: repetition, copying, grammar, plausibility, and similarity to real texts."""
