"""The garbage collector does not walk what a large plan is made of, meanwhile."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from kadmin_nb.plans import plan


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_a_collector_that_was_at_rest_before_stays_so():
    gc.disable()
    with plan.at_rest():
        pass
    assert not gc.isenabled()


def test_it_goes_on_after_an_error():
    with pytest.raises(KeyError):
        _fail_at_rest()
    assert gc.isenabled()


@plan.at_rest()
def _fail_at_rest() -> None:
    assert not gc.isenabled()
    raise KeyError


@pytest.mark.slow
def test_cycles_that_were_made_meanwhile_are_found_later():
    with plan.at_rest():
        link = _Link()
        link.itself, ended = link, weakref.ref(link)
        del link
    assert ended() is not None
    gc.collect()
    assert ended() is None


class _Link:
    itself: _Link
