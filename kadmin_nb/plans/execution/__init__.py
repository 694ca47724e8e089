"""Carrying out a plan, taking it back, and seeing what became of it."""
