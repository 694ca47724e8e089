"""The journal: intents, on the disk before they are sent, and their outcomes, in a chain of hashes."""
