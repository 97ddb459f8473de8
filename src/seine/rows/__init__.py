"""What flows between operators: deltas, event time, hashes, and rows grouped by value."""
