"""Plotly figures of the scores and observations in a store."""
