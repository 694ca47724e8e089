"""Completion on the one tree, offline, in IPython and through Jupyter's complete_request."""

from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter
from jupyter_client.manager import start_new_kernel

from kadmin_nb.commands.completions import keys_of_types

LINES = [
    ("%kquota des", "des", ["describe"]),
    ("x = %kquota re", "re", ["remove", "resolve"]),
    ("%kquota describe --st", "--st", ["--strict"]),
    ("%kquota describe --as ", "", ["arrow", "pandas", "spark"]),
    ("%kquota describe u", "u", ["user="]),
    ("%kquota describe user=a cl", "cl", ["client-id="]),
    ("%kquota describe user=", "user=", ["user=", "user=<any>", "user=<default>"]),
    ("%kquota describe user=<", "user=<", ["user=<any>", "user=<default>"]),
    ("%kquota set prod", "prod", ["producer_byte_rate="]),
    ("%kquota remove prod", "prod", ["producer_byte_rate"]),
    ("%kquota set ip=1.2.3.4 ", "", ["connection_creation_rate="]),
    ("%kquota describe --keys producer_byte_rate,req", "producer_byte_rate,req",
     ["producer_byte_rate,request_percentage"]),
    ("%kconfig describe bro", "bro", ["broker-logger=", "broker="]),
    ("%kconfig set topic=orders retention", "retention", ["retention.bytes=", "retention.ms="]),
    ("%kadmin quota set --al", "--al", ["--allow", "--allow-unknown"]),
    ("%kadmin lo", "lo", ["local"]),
    ("%kplan ver", "ver", ["verify"]),
    ("%%kquota --rea", "--rea", ["--reason"]),
    ("%%kquota\nset producer_byte_rate=1 us", "us", ["user="]),
    ("%%kquota\n# first\nre", "re", ["remove", "resolve"]),
    ("%%kconfig\nreset topic=a cleanup", "cleanup", ["cleanup.policy"]),
]  # fmt: skip


def completed(notebook, text):
    with provisionalcompleter():
        return [(text[one.start : one.end], one.text) for one in notebook.shell.Completer.completions(text, len(text))]


@pytest.mark.parametrize(("text", "fragment", "offers"), LINES, ids=[line[0] for line in LINES])
def test_words_are_completed(notebook, text, fragment, offers):
    """Tab gave me Python's names."""
    assert sorted(completed(notebook, text)) == sorted((fragment, offer) for offer in offers)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["%kquota describe 'user=a", "%kquota describe # us"])
def test_nothing_is_offered_where_nothing_fits(notebook, text):
    """Tab offered words inside a quote."""
    assert completed(notebook, text) == []


@pytest.mark.slow
def test_python_is_left_alone(notebook):
    """Tab in my own code offered Kafka's words."""
    notebook["describer"] = 1
    assert "describer" in {text for _, text in completed(notebook, "y = describ")}


def test_a_variable_within_braces_is_python(notebook):
    """Tab did not know my variables any more."""
    notebook["alice_in_chains"] = "a"
    assert "alice_in_chains" in {text for _, text in completed(notebook, "%kquota describe user={alice_in")}


def test_profiles_are_offered(notebook, tmp_path, monkeypatch):
    """I had to remember what my profiles are called."""
    profiles = '[profiles.prod]\nbootstrap = "a:1"\n[profiles.preprod]\nbootstrap = "b:1"\n'
    (tmp_path / "kadmin-nb.toml").write_text(profiles)
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    assert completed(notebook, "%kadmin use pr") == [("pr", "preprod"), ("pr", "prod")]
    assert ("", "prod") in completed(notebook, "%kquota describe --cluster ")


def test_a_broken_profile_file_breaks_no_completion(notebook, tmp_path, monkeypatch):
    """A typo in the profiles made Tab print a stack trace."""
    (tmp_path / "kadmin-nb.toml").write_text("[prod")
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    assert ("prod", "producer_byte_rate=") in completed(notebook, "%kquota set prod")


@pytest.mark.broker
def test_the_config_keys_are_the_brokers_own(cluster):
    """Tab offered a key that Kafka does not have."""
    whose = {"topic": {"topic": "__none"}, "broker": {"broker": 1}, "group": {"group": "g"},
             "client-metrics": {"client_metrics": "m"}}  # fmt: skip
    answers = {word: cluster.configs.describe(**what).to_arrow().to_pylist() for word, what in whose.items()}
    for word in ("broker", "group"):
        assert {row["key"] for row in answers[word] if not row["is_read_only"]} == set(keys_of_types()[word])


@pytest.mark.slow
def test_jupyter_completes(tmp_path):
    """In JupyterLab Tab did nothing."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    try:
        client.execute_interactive("%load_ext kadmin_nb", timeout=60)
        for text, offers in (("%kquota des", ["describe"]), ("x = %kquota set prod", ["producer_byte_rate="])):
            content = client.complete(text, reply=True, timeout=60)["content"]
            assert content["matches"] == offers
            assert text[content["cursor_start"] :] in ("des", "prod")
        content = client.complete("%kquota describe zz", reply=True, timeout=60)["content"]
        assert content["matches"] == []  # a popup with the word that was typed is none either
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
