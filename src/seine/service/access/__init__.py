"""Who may do what in a service: tokens with a name and a role, owners of queries, and the log of changes."""
