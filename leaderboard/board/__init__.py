"""The board: a web application over prepared reports.  May import everything but `leaderboard.cli`."""
