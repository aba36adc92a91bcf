"""Tasks for corpus metrics. A task never imports another task."""
