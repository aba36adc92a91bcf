"""The metrics, one file each.  Nothing here is imported by the harness: files are read, and run in workers."""
