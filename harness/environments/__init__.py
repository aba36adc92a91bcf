"""Python environments with the dependencies of submissions.  May import `harness.sandbox` and what is below it."""
