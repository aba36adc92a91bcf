"""Generators of texts: n-grams, easy data augmentation, and causal language models if their weights are available."""
