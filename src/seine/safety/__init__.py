"""Whether a query's state stays bounded, and what would make it so."""
