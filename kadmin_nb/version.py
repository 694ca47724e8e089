"""This version of kadmin_nb; pyproject.toml takes it from here."""

VERSION = "0.1.0"
TOOL = f"kadmin_nb {VERSION}"

OLDEST_WIDGETS = 8
"""The first version of ipywidgets whose messages our widgets speak."""
