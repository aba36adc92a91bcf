"""The board in the browser: pages that are pure functions of a snapshot, and the application that serves them."""
