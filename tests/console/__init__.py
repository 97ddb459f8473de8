"""The console in a real browser: everything is done by clicking and typing."""
