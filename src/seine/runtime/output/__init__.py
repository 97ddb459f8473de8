"""Results and dead letters on their way out: records as text, counted, appended exactly once."""
