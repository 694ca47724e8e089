"""What runs on other versions than the rest of the tests, in environments of their own: all of it `long`."""

NEEDS_NOTHING = ("tests", "-m", "not broker and not spark and not secure and not slow and not long")
"""The tests that need neither a broker nor Spark."""
