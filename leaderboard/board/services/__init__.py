"""What the routes of the API and of sharing consist of: lookups, heads of pages, images, and documentation."""
