"""The Touchstone board as a Gradio app: the latest release, without submissions."""

import os

from leaderboard.board.app import launch
from leaderboard.board.router import Library
from leaderboard.board.snapshot import of_release
from leaderboard.publishing.release import read_release

if __name__ == "__main__":
    launch(Library(of_release(read_release()), {}), server_name=os.environ.get("GRADIO_SERVER_NAME", "0.0.0.0"))
