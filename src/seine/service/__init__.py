"""A pipeline that queries join and leave while it runs, and the HTTP interface to it."""
