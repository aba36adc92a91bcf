"""The commands that bring in metrics from elsewhere.  May import what `leaderboard.cli` may import."""
