"""Row batches and how they are handled: deltas, event-time clocks, key hashes, grouping by equality."""
