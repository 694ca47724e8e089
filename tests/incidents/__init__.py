"""Staged incidents, each with an answer key that was written before the code that finds it."""
