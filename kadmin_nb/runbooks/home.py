"""The home folder, which has a person's name in it and is nobody's business in what is handed on."""

from __future__ import annotations

import json
import re
from pathlib import Path


def without(text: str) -> str:
    """The JSON text with `~` in place of the home folder, also by the name behind its links."""
    for home in {str(Path.home()), str(Path.home().resolve())}:
        if len(home) > 1:
            text = re.sub(rf"{re.escape(json.dumps(home)[1:-1])}(?![\w.-])", "~", text)
    return text
