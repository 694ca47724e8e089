"""The kinds of changes: a file each, and the registry that names them."""
