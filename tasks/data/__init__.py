"""The registry of datasets, and loading datasets in one normal form."""
