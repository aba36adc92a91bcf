"""Edits of English texts by linguistic phenomenon, and quads of texts in which surface features carry no information."""
