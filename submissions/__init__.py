"""The metrics, one file each. The harness reads these files and runs them in workers; it never imports them."""
