"""The shared network: adding and removing queries (`network.py`, `build.py`), by rooms below."""
