"""Choose a metric by judged pairs of texts.  Imports of `own_data` only `answers` and `report`."""
