"""XML documents: one safe parser, bindings of tree patterns, and the values at many paths in one pass."""
