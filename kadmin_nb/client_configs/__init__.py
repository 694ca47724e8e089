"""Dynamic client configs (KIP-649), whole: what is said, stored, shown and followed, and what applications run."""
