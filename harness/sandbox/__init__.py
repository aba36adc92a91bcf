"""Run a submission in an isolated process: limits, layers, supervisor and worker client.  May import `harness.base`."""
