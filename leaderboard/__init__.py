"""The leaderboard: scores, rankings, releases, reproductions of papers, the board and the command line."""
