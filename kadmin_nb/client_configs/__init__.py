"""Dynamic client configs (KIP-649), whole: said, stored, shown, followed by applications.

`nouns` (whose, which keys, which values) and `records` (as they stand in the topics) load neither a client library nor
Arrow. Upon them stand `topic` (the entries: read, and altered by compare-and-set), `registry` (the clients that
follow), `setup` (topics, rights, checks), `followers` (who will follow a plan, and who did), `verbs` (what
`cluster.client_configs` answers), and `application`, which runs in applications: `kadmin_nb.clients` is its front.
As a kind of change they are `plans/kinds/client_configs.py`, beside the other kinds.
"""
