"""DynamicProducer and DynamicConsumer have confluent-kafka's calls, and need nothing else that kadmin_nb needs."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import confluent_kafka
import pytest

from kadmin_nb import clients
from kadmin_nb.client_configs.follower import Followed

STUB = Path(confluent_kafka.__file__).with_name("cimpl.pyi")
WRAPPERS = {"Producer": clients.DynamicProducer, "Consumer": clients.DynamicConsumer}


def declared(name: str) -> dict[str, dict[str, object]]:
    """The methods of a class of confluent-kafka, by its own declaration: parameters with their defaults."""
    classes = (node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef))
    methods: dict[str, dict[str, object]] = {}
    for node in next(each for each in classes if each.name == name).body:
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            methods.setdefault(node.name, {}).update(parameters(node.args))
    return methods


def parameters(arguments: ast.arguments) -> dict[str, object]:
    plain = [argument.arg for argument in arguments.args[1:]]
    defaults = [ast.literal_eval(default) for default in arguments.defaults]
    required = [inspect.Parameter.empty] * (len(plain) - len(defaults))
    overloads = dict.fromkeys((argument.arg for argument in arguments.kwonlyargs), ...)
    return dict(zip(plain, required + defaults, strict=True)) | overloads


def ours(name: str) -> dict[str, dict[str, object]]:
    """The calls that the wrapper answers itself; any other takes what the client behind takes."""
    methods = {method: getattr(WRAPPERS[name], method) for method in declared(name)}
    return {
        method: {each.name: each.default for each in list(inspect.signature(function).parameters.values())[1:]}
        for method, function in methods.items()
        if not isinstance(function, property)
    }


@pytest.mark.parametrize("name", WRAPPERS)
def test_every_call_is_there_with_its_arguments(name: str) -> None:
    """`produce(headers=…)` worked until we changed the import."""
    assert ours(name).items() <= declared(name).items()


@pytest.mark.parametrize(
    ("name", "call", "arguments"),
    [
        ("Consumer", "commit", {"offsets": [], "asynchronous": False}),
        ("Producer", "purge", {"blocking": False}),
    ],
)
def test_every_other_call_reaches_the_client_behind_as_it_is(name: str, call: str, arguments: dict[str, Any]) -> None:
    """`commit(offsets=…)` did not work any more."""
    wrapper: Any = WRAPPERS[name].__new__(WRAPPERS[name])
    wrapper._client = Mock()
    getattr(wrapper, call)(**arguments)
    getattr(wrapper._client, call).assert_called_once_with(**arguments)


@pytest.mark.parametrize("name", WRAPPERS)
def test_no_call_reaches_the_class_without_a_client_behind_it(name: str) -> None:
    """The new method of confluent-kafka 2.17 crashed: it was called on an object that was never made."""
    base, wrapper = getattr(confluent_kafka, name), WRAPPERS[name]
    public = {method for method in vars(base) if not method.startswith("_")}
    assert public - {*vars(wrapper), *vars(Followed)} == set()
    assert issubclass(wrapper, base)


def test_an_application_needs_confluent_kafka_alone() -> None:
    """Our image grew by 300 MB for a producer."""
    heavy = ["pyarrow", "pandas", "numpy", "click", "kafka", "pyspark", "cryptography"]
    block = f"import sys; sys.modules.update(dict.fromkeys({heavy!r})); "  # importing what is None fails
    program = f"{block}import kadmin_nb.clients as c, json; print(json.dumps(sorted(c.__all__)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert json.loads(done.stdout) == ["DynamicConsumer", "DynamicProducer"]


OF_OURS = (
    "clients", "client_configs", "model.client_configs", "client_configs.records",
    "client_configs.follower", "client_configs.settings", "client_configs.wrappers",
    "documents", "errors", "hints", "secrets", "version",
    "model", "model.configurable", "model.grammar",
)  # fmt: skip


def test_an_application_loads_confluent_kafka_and_our_ground() -> None:
    """A client configs' room of one piece must not bring an admin's tools into every application."""
    program = (
        "import sys, json; before = {*sys.modules}; from kadmin_nb.clients import DynamicConsumer, DynamicProducer; "
        "print(json.dumps(sorted({*sys.modules} - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    others = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names - {"typing_extensions"}
    assert others == {"confluent_kafka", "kadmin_nb", "msgspec"}
    ours = {name for name in loaded if name.split(".")[0] == "kadmin_nb"}
    assert ours == {"kadmin_nb", *(f"kadmin_nb.{name}" for name in OF_OURS)}
