"""Runs on several machines through Dask distributed.  May import the rest of `harness.evaluation`."""
