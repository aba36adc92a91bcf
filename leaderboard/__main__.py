"""`python -m leaderboard` is `touchstone`."""

from leaderboard.cli import main

if __name__ == "__main__":
    main()
