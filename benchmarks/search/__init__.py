"""Benchmarks of keyword search: the figures of SKWS, the price of setting up, and very many queries."""
