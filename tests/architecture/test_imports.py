"""Rooms and passports: who may import whom, and what `import kadmin_nb` may load."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.architecture.sources import IN_PACKAGE, PACKAGE, ROOT, nodes_of, place_of

PASSPORTS = {
    "kafka": ("admin", "client_configs"),
    "confluent_kafka": ("admin", "client_configs", "local"),  # local: the demo's clients
    "pyspark": (
        "fleets",
        "usage",
        "frames/relational.py",
        "frames/spark.py",
        "state/catalog.py",
        "sql",
    ),
    "deltalake": ("state",),
    "pandas": ("frames",),
    "IPython": (),
    "papermill": ("runbooks",),
    "nbformat": ("runbooks",),
    "click": ("commands",),
    "ipywidgets": ("widgets",),
    "anywidget": ("widgets",),
    "altair": ("charts",),
    "vl_convert": ("charts",),
    "polars": (),
    "cryptography": ("admin", "cluster/doctor.py", "profiles"),
    "aws_msk_iam_sasl_signer": ("admin/bearer_tokens.py",),
    "boto3": ("admin/bearer_tokens.py",),
    "botocore": ("admin/bearer_tokens.py",),
    "javaproperties": ("documents",),
    "wcwidth": ("frames",),
    "platformdirs": ("paths",),
    "filelock": ("files",),
    "yaml": ("state",),
    "msgspec": ("documents", "plans", "widgets", "client_configs/records.py"),
    "mcp": ("commands/assistant.py",),
    "mcp_types": ("commands/assistant.py",),
    "anyio": ("commands/assistant.py",),
    "jsonschema": ("commands/assistant.py",),
    "textual": ("commands/live_screen.py",),
    "rich": ("commands/live_screen.py",),
    "prometheus_client": ("cluster/exporter.py",),
}
"""Where each third-party package may be imported within kadmin_nb."""

GROUND = (
    "version",
    "hints",
    "secrets",
    "errors",
    "files",
    "documents",
    "paths",
    "java",
    "jars",
    "local_runs",
    "processes",
    "web",
)
"""Single modules that any room may import; among themselves they follow ROOMS."""

ROOMS = {
    "version": (),
    "hints": (),
    "secrets": (),
    "errors": ("hints", "secrets"),
    "files": ("errors",),
    "documents": ("errors", "files"),
    "paths": ("errors", "files"),
    "java": ("errors", "files", "paths"),
    "jars": ("errors", "files", "paths", "java"),
    "local_runs": ("errors", "files", "documents", "paths"),
    "processes": (),
    "web": (),
    "model": GROUND,
    "frames": (*GROUND, "model"),
    "client_configs.records": (*GROUND, "model"),
    "client_configs.settings": (*GROUND, "model", "client_configs.records"),
    "client_configs.follower": (*GROUND, "model", "client_configs.records", "client_configs.settings"),
    "client_configs.wrappers": (*GROUND, "model", "client_configs.follower", "client_configs.settings"),
    "clients": (*GROUND, "client_configs.wrappers"),
    "admin": (*GROUND, "model", "frames.frame", "frames.schemas"),
    "resolution": (*GROUND, "model", "frames.schemas", "frames.given_frames"),
    "profiles": (*GROUND, "model"),
    "advice": (*GROUND, "model", "frames", "resolution"),
    "fleets": (*GROUND, "model", "frames", "advice", "resolution"),
    "usage": (*GROUND, "model", "frames", "resolution", "fleets"),
    "plans": (*GROUND, "model", "frames", "resolution", "usage", "admin.ports"),
    "widgets": (*GROUND, "model", "frames", "resolution", "plans", "admin.ports"),
    "charts": (*GROUND, "model", "frames", "resolution", "usage"),
    "client_configs": (*GROUND, "model", "frames", "admin", "client_configs.records"),
    "state": (*GROUND, "model", "frames", "advice", "admin", "client_configs"),
    "policy": (*GROUND, "model", "frames", "resolution", "state"),
    "cluster": (*GROUND, "model", "frames", "advice", "resolution", "policy", "state",
                "client_configs", "admin", "profiles", "plans", "fleets", "usage", "widgets"),
    "sql": (*GROUND, "model", "frames", "resolution", "admin", "fleets", "usage", "state", "cluster"),
    "local": (*GROUND, "admin", "profiles", "cluster"),
    "runbooks": (*GROUND, "model", "frames", "resolution", "profiles", "fleets", "plans", "usage", "charts"),
    "commands": (*GROUND, "model", "frames", "advice", "resolution", "policy", "state",
                 "client_configs", "admin", "profiles", "plans", "fleets", "usage",
                 "widgets", "charts", "cluster", "local", "runbooks"),
}  # fmt: skip
"""What each room may import of ours, in an order in which each names only those above it.

A part of a room may stand elsewhere than the room: what most rooms need of client configs, and what is over them all.
"""


def _room_of(module: str) -> str:
    """The room of a module, or the part of a room that has a row of its own."""
    words = module.split(".")
    rooms = (".".join(words[:length]) for length in range(len(words), 0, -1))
    return next((room for room in rooms if room in ROOMS), words[0])


@cache
def _imports(source: Path) -> list[tuple[str, bool]]:
    """The modules that a file names, and whether they are ours; type-checking blocks do not count."""
    typing_only = nodes_for_types_alone(source)
    return [named for node in nodes_of(source) if id(node) not in typing_only for named in _named(source, node)]


def _named(source: Path, node: ast.AST) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, alias.name.startswith("kadmin_nb")) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from _from(source, node)


def _from(source: Path, node: ast.ImportFrom) -> Iterator[tuple[str, bool]]:
    module = node.module or ""
    if not node.level:
        yield module, module.startswith("kadmin_nb")
        return
    here = ("kadmin_nb", *source.relative_to(PACKAGE).parts[:-1])
    base = ".".join((*here[: len(here) - node.level + 1], *filter(None, [module])))
    yield from ((f"{base}.{alias.name}", True) for alias in node.names)


def nodes_for_types_alone(source: Path) -> set[int]:
    """The ids of what stands under `if TYPE_CHECKING`."""
    return {id(node) for block in nodes_of(source) if _is_type_checking(block) for node in ast.walk(block)}


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def test_third_party_names_show_their_passport() -> None:
    """pandas turned up in the plans, and nobody could say why."""
    imported = [(source, name) for source in IN_PACKAGE for name, ours in _imports(source) if not ours]
    assert [(place_of(source), name) for source, name in imported if not _has_passport(source, name)] == []


def _has_passport(source: Path, name: str) -> bool:
    place, allowed = str(source.relative_to(PACKAGE)), PASSPORTS.get(name.split(".")[0])
    return allowed is None or any(place == a or place.startswith(f"{a}/") or place == f"{a}.py" for a in allowed)


def test_imports_point_one_way() -> None:
    """The rules began to ask the broker."""
    imported = [(source, name) for source in IN_PACKAGE for name, ours in _imports(source) if ours]
    assert [(place_of(source), name) for source, name in imported if not _is_below(source, name)] == []


def _is_below(source: Path, name: str) -> bool:
    """Whether the file's room may import this module of ours."""
    room = _room_of(".".join(source.relative_to(PACKAGE).with_suffix("").parts))
    inner = name.removeprefix("kadmin_nb.")
    if room == "__init__" or _room_of(inner) in (room, "kadmin_nb"):
        return True
    return any(inner == a or inner.startswith(f"{a}.") for a in ROOMS[room])


def test_rooms_stand_in_an_order() -> None:
    """Fourteen of sixteen rooms imported each other, and none could be read alone."""
    above: set[str] = set()
    for room, imported in ROOMS.items():
        assert {_room_of(name) for name in imported} <= above, room
        above.add(room)


def _calls() -> Iterator[tuple[Path, ast.Call]]:
    return ((source, node) for source in IN_PACKAGE for node in nodes_of(source) if isinstance(node, ast.Call))


RUNS_A_POLICY = "kadmin_nb/policy/rule_functions.py"
"""A policy is a file of Python that a profile or a line names, and that nobody else may write."""


def test_nothing_evaluates_text() -> None:
    """A UI ran a Groovy filter that came in over the network (CVE-2023-52251)."""
    evaluates = ("eval", "exec", "compile")
    named = [(place_of(source), call.func.id) for source, call in _calls() if isinstance(call.func, ast.Name)]
    assert {place for place, name in named if name in evaluates} == {RUNS_A_POLICY}


def test_files_are_written_by_one_module() -> None:
    """`plan approve` was killed while it wrote, and half of the reviewed plan was left."""
    assert [(place_of(source), ast.unparse(call)) for source, call in _calls() if _writes_a_file(source, call)] == []


def _writes_a_file(source: Path, call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if isinstance(call.func, ast.Attribute) and name in ("write_text", "write_bytes"):
        return True
    words = (*call.args, *(keyword.value for keyword in call.keywords))
    modes = {word.value for word in words if isinstance(word, ast.Constant)}
    return name == "open" and source.name != "files.py" and bool(modes & {"w", "wb", "x", "xb", "w+"})


HEAVY = ("kafka", "confluent_kafka", "pyarrow", "pandas", "pyspark", "altair", "papermill", "IPython", "ipywidgets")


def test_importing_is_light() -> None:
    """`import kadmin_nb` took a second."""
    assert _loaded_by("import kadmin_nb", HEAVY) == []


HELP = "from kadmin_nb.commands import terminal; terminal.run_line(['--help'])"
VERBS = ("quota", "config", "plan", "usage", "history", "current_cluster", "options")


def test_help_is_light() -> None:
    """`kadmin-nb --help` took most of a second: it loaded Arrow to see that a text is no table."""
    assert _loaded_by(HELP, HEAVY) == []


def test_the_list_of_verbs_loads_none_of_them() -> None:
    """`kadmin-nb --help` loaded every verb, to print a line about each."""
    assert _loaded_by(HELP, [f"kadmin_nb.commands.{verb}" for verb in VERBS]) == []


def _loaded_by(statement: str, modules: Sequence[str]) -> list[str]:
    """Those of the modules that a fresh process has loaded after this statement."""
    program = f"import sys, json; {statement}; print(json.dumps([m for m in {list(modules)!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded: list[str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


def test_no_drawer_of_odds_and_ends() -> None:
    """`utils.py` says nothing of what is in it."""
    assert not [p for p in IN_PACKAGE if p.stem.strip("_") in {"util", "utils", "helper", "helpers", "misc", "common"}]


def test_a_file_has_a_name_of_its_own() -> None:
    """I looked for scram.py, and found five."""
    names = Counter(path.name for path in IN_PACKAGE if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


FORBIDDEN = r"index-url|find-links|https?://repo[0-9]*\.|/work/(main|shared)|/root/"


def test_nothing_names_a_registry_or_this_machine() -> None:
    """A clone elsewhere looked for packages at an address that only we can reach."""
    command = ["git", "grep", "-lE", FORBIDDEN, "--", ".", ":!tests/architecture"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode in (0, 1), found.stderr
    assert found.stdout.split() == []


def test_helpers_of_the_tests_have_names_of_their_own() -> None:
    """Two folders had a `turns.py`, and whoever came second imported the other's."""
    names = [place.name for place in (ROOT / "tests").rglob("*.py") if place.name not in ("conftest.py", "__init__.py")]
    assert sorted(names) == sorted(set(names))
