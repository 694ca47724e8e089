"""Pure nouns: entities, quota keys and units, configs, changes. Standard library only."""
