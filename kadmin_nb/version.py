"""This version of kadmin_nb; pyproject.toml says the same."""

VERSION = "0.1.0"
TOOL = f"kadmin_nb {VERSION}"
