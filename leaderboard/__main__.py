"""`python -m leaderboard` is `touchstone`."""

from leaderboard.cli.app import main

if __name__ == "__main__":
    main()
