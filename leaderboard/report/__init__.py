"""The report: everything the board, the API and a release show.  May import `leaderboard.ensembles` and `leaderboard.scoring`."""
