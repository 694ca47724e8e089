"""Dynamic client configs (KIP-649), whole: said, stored, shown, followed by applications.

Its nouns (whose, which keys, which values) are `model/client_configs.py`. `records` (as they stand in the topics)
loads neither a client library nor Arrow. Upon it stand `topic` (the entries: read, and altered by compare-and-set),
`setup` (topics, rights, checks), `verbs` (the clients that follow, and what `cluster.client_configs` answers) and
`kafka` (all over one connection). What runs in applications is `wrappers`, over `follower` and `settings`:
`kadmin_nb.clients` is its front. As a kind of change they are `plans/kinds/client_config_changes.py`.
"""
