"""Releases, their verification, citations and exports.  May import `leaderboard.report` and what is below it."""
