"""The console: what it asks of a service beyond the commands, and its page, built from `console/`."""
