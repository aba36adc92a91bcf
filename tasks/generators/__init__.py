"""Generators of texts: n-grams, and fine-tuned causal language models if their weights are available."""
