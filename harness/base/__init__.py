"""Paths, hashing, errors, progress, files and downloads.  Imports no other part of this project."""
