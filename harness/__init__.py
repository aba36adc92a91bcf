"""The engine: loads a submission, runs it apart from everything else, records what it answered."""
