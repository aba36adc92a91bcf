"""Commands on data of a user: choosing a metric, and measuring differences."""
