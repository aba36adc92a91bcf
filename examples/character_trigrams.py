# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.touchstone]
# name = "character_trigrams"
# title = "Character trigrams"
# summary = "Dice coefficient of the character trigrams of two texts."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# lift = false               # true: also compare corpora, which takes a comparison of all their texts
# license = "Apache-2.0"
# ///


def trigrams(text):
    return {text[start:start + 3] for start in range(max(1, len(text) - 2))}


def dice(x, y):
    return 2 * len(x & y) / (len(x) + len(y))


def similarity(a, b):        # two tuples of texts; one number for each pair (a[0], b[0]), (a[1], b[1]), ...
    return [dice(trigrams(x.lower()), trigrams(y.lower())) for x, y in zip(a, b, strict=True)]


def matrix(a, b):            # optional: a row for each text of a, a column for each of b; much faster than single pairs
    rows, columns = ([trigrams(text.lower()) for text in texts] for texts in (a, b))
    return [[dice(x, y) for y in columns] for x in rows]
