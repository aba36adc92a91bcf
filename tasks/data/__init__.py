"""Datasets: what is registered, and loading it in one normal form.  May import `harness`."""
