"""What the board offers beside its pages: the JSON API and its documentation, files, badges, feeds, and the heads of pages."""
