"""Keyword search as SKWS does it: candidate networks, and operators that join tuples along them.

`candidate_networks.py` generates, from a schema and the number of keywords alone, every way in which streams
could connect the keywords. The paper joins streams along these networks; Seine's own engine
(`operators/search/`) grows trees on tuples instead and generates nothing. What is here is run by
`make bench NAME=search`, which compares them, and networks are shown by `seine explain`.
"""
