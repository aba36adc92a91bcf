"""Reproductions of five papers, compared with their published numbers."""
