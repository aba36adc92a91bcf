"""The Gradio app: one module per kind of page.  Content comes from `leaderboard.board.pages`, controls are Gradio components."""
