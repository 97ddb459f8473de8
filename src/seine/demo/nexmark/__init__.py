"""Nexmark: the events of an auction site and the benchmark's queries over them, as people write them.

Cites: Nexmark (Tucker, Tufte, Papadimos, Maier); distributions as Beam's and Flink's generators have them
"""
