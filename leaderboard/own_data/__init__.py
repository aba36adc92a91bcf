"""Choose and apply metrics on data of a user.  Imports nothing of `leaderboard` above `publishing`."""
