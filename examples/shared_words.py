# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.touchstone]
# name = "shared_words"
# title = "Shared words"
# summary = "Share of the words of two corpora that occur in only one of them."
# kind = "corpus"            # or "text", as in character_trigrams.py
# input = "texts"            # or "tokens", or "embeddings": a float32 array with one row per text
# returns = "distance"       # or "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///


def prepare(corpus):         # optional: called once per corpus; its result replaces the corpus
    return {word for text in corpus for word in text.lower().split()}


def distance(p, q):
    return len(p ^ q) / max(1, len(p | q))
