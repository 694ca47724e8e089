"""`make bench`: every figure as a ratio of two things measured in the same run."""
