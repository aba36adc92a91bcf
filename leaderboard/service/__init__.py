"""The submission service: states, queue, limits, tokens, runner.  May import `leaderboard.workflows` and what is below it."""
