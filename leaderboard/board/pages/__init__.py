"""The pages of the board, one module per page."""
