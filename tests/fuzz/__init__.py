"""Fuzzers of scripts and HTTP requests: nothing that is sent makes a service fail, or refuses in silence.

What they try follows from a seed alone: the n-th try is the same on any machine. `make test-all` has few,
`make fuzz` goes on for ten minutes with a seed of its own.
"""
