"""The sources of connections: a Java `.properties` file, a profile in `kadmin-nb.toml`, or host:port.

Everything is read in place and becomes one `Settings`; a secret is covered as soon as it is read, and no
error repeats one. `docs/connections.md` is the reader's side of this.
"""

from __future__ import annotations

from .targets import group, lasting, profile_names, require_references, settings_for

__all__ = ["group", "lasting", "profile_names", "require_references", "settings_for"]
