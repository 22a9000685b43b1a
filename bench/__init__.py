"""Measures; prints JSON. Not part of the product."""
