"""Models that write texts after having read some: n-grams that are always there, GPT-2 for those who have its weights."""
