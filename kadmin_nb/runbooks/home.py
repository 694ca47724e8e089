"""The home folder, which has a person's name in it and is nobody's business in what is handed on."""

from __future__ import annotations

import json
import re
from pathlib import Path


def without(text: str) -> str:
    """The JSON text with `~` in place of the home folder."""
    home = json.dumps(str(Path.home()))[1:-1]
    return re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text) if len(home) > 1 else text
