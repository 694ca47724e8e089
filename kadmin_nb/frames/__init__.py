"""Frames: every answer as Arrow, pandas or Spark, with the same columns and types."""

FORMS = ("pandas", "arrow", "spark")
"""The forms of a frame."""
