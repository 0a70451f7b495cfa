"""Measurements, each a program of its own: `python -m tests.bench.NAME`. None is a test that times anything."""
