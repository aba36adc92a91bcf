"""The engine: load a submission, run it in a sandbox, and store what it answered.  Imports nothing else of this project."""
