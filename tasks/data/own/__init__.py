"""Datasets of a user: read files, map their columns, register them by name.  Imports of `tasks` only `data.schema` and types."""
