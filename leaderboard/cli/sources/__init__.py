"""The commands on datasets and models.  May import what `leaderboard.cli` may import."""
