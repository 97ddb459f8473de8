"""The SQL front end: binds the syntax trees of SELECT queries to logical plans."""
