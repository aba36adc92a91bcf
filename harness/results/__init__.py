"""The results store: outcomes, observations, arrays and provenance.  May import `harness.environments` and what is below it."""
