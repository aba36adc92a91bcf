"""What the commands do: check, submit, explain, try, parity, doctor.  May import `leaderboard.publishing` and below."""
