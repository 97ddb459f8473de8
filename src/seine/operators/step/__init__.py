"""The work of a node as its host sees it: what arrives, what is pushed on, what makes operators and steps."""
