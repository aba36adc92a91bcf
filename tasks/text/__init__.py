"""Tasks for text metrics. A task never imports another task."""
