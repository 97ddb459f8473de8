"""The states of a query: what each operator keeps of which streams, and whether something frees it."""
