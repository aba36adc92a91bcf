"""What the records say: ranking, the pages, and the command line."""
