"""Benchmarks, and the machinery that runs them.

`suite.py` lists the benchmarks by the name that `make bench` knows. The benchmarks themselves are in

- `engine/`: one windowed join, stages, selections, state size, window length, regrouping, the computation
index;
- `sharing/`: very many standing queries over money transfers (ARGUS);
- `safety/`: the check for bounded state, and what purging by punctuations saves and costs (SAFETY);
- `star/`: joins within a memory limit (STAR);
- `search/`: keyword search over joinable streams (SKWS);
- `kafka/`: streams from topics.

What they are made of is below them: `harness/` measures and prints, `workloads/` generates streams and
queries, `sides/` holds the systems that are compared, each runnable as a process of its own.
"""
