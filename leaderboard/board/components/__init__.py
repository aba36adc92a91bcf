"""Pieces that several pages share: layout, charts, cards."""
