"""Reproductions of the five papers beside their published numbers.  May import `leaderboard.publishing` and what is below it."""
