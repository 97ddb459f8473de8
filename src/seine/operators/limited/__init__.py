"""Memory-limited joins with load shedding: windows that evict the tuples worth least, and what that loses."""
