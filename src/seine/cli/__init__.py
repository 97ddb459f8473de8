"""The `seine` command: one module for each subcommand."""
