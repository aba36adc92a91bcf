"""Figures of stored observations.  May import `leaderboard.report` and what is below it."""
