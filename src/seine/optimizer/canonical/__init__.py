"""Canonical predicates: conjunctive normal form, implication and inference of conditions."""
