"""Stands in the way of a package that is not ours: `tests/conftest.py` puts this folder on the path of child processes.

`jsonschema` imports it for one format of its many, and then builds 38 parsers: 2.5 seconds of each process that reads a
notebook (the Jupyter server, papermill, nbconvert). Where it is absent, jsonschema goes without that one format.
"""

raise ImportError("the tests do without this package")
