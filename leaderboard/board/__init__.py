"""The board: a web application over prepared snapshots of reports.  May import everything but `leaderboard.cli`.

Gradio serves an empty first page and endpoints for its clients; every page is HTML from `templates/`.
"""
