"""Ensembles of metrics, and what each metric adds to them.  May import `leaderboard.scoring`."""
