"""Tests of what the console asks of a service."""
