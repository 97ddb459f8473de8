"""SELECT to plans."""
