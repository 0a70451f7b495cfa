"""Tests of the transports: the real SDK against a loopback service that answers from a script."""
