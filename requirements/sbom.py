"""Write sbom.cdx.json: what an installation of kadmin_nb with all its extras consists of, as `make sbom` does.

It is what `cyclonedx-py environment` found in the environment of the lock, without what only development needs, and
without addresses. The wheel carries it (PEP 770).
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from kadmin_nb.version import VERSION

HERE = Path(__file__).resolve().parent


def bill(found: dict[str, Any]) -> dict[str, Any]:
    """The bill of materials, out of that of a whole environment."""
    names = runpy.run_path(str(HERE.parent / "binder" / "derive.py"))["wanted"]()
    kept = [part for part in found["components"] if canonicalize_name(part["name"]) in names]
    ours = {**found["metadata"]["component"], "version": VERSION}
    refs = {part["bom-ref"] for part in kept} | {ours["bom-ref"]}
    needs = [
        {**one, "dependsOn": [ref for ref in one.get("dependsOn", ()) if ref in refs]}
        for one in found["dependencies"]
        if one["ref"] in refs
    ]
    metadata = {**found["metadata"], "component": ours}
    whole = {**found, "metadata": metadata, "components": kept, "dependencies": needs}
    return _without({"externalReferences", "description"}, whole)


def _without(names: set[str], value: Any) -> Any:
    if isinstance(value, list):
        return [_without(names, item) for item in value]
    if isinstance(value, dict):
        return {name: _without(names, item) for name, item in value.items() if name not in names}
    return value


if __name__ == "__main__":
    (HERE / "sbom.cdx.json").write_text(json.dumps(bill(json.load(sys.stdin)), indent=0, sort_keys=True) + "\n")
