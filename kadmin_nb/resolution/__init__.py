"""The quota that binds a client: the scalar rule, the same rule over frames, and the hierarchy as a tree. Pure."""
