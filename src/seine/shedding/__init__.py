"""Which tuples to keep when memory cannot hold the window: pure algorithms over NumPy."""
