"""A request log, read in another way than ours: a line at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def requests_of(client_id: str, *logs: Path) -> list[dict[str, Any]]:
    """The documents of a client's requests; a line that is being written is passed over."""
    lines = (line for log in logs for line in log.read_text().splitlines(True))
    whole = (line for line in lines if "Completed request:" in line and line.endswith("\n"))
    documents = (json.loads(line.partition("request:")[2].rpartition(" (")[0]) for line in whole)
    return [one for one in documents if one["requestHeader"]["clientId"] == client_id]
