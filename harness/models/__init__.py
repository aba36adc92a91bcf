"""Embedding models and the vectors they compute.  May import `harness.base`."""
