"""The files of the example project that `seine init` writes."""
