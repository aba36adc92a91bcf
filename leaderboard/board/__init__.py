"""The board: a multipage Gradio app over prepared snapshots of reports.  May import everything but `leaderboard.cli`.

`pages` renders content from `templates`, `interface` adds Gradio's components, `services` is what other programs use.
"""
