"""The documentation is true: complete, generated where it can be, and executed where it has examples."""
