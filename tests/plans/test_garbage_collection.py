"""The garbage collector does not walk what a large plan is made of: neither meanwhile nor at once after."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from kadmin_nb.plans import garbage_collection

MANY = 50_000


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    gc.enable()
    yield
    gc.unfreeze()
    gc.enable()


def test_what_was_made_is_not_young_any_more():
    with garbage_collection.at_rest():
        made = [[] for _ in range(MANY)]
    young = [*gc.get_objects(generation=0), *gc.get_objects(generation=1)]
    assert len(young) < MANY
    assert sum(one is made[-1] for one in gc.get_objects(generation=2)) == 1


def test_a_collector_that_was_at_rest_before_stays_so():
    gc.disable()
    with garbage_collection.at_rest():
        pass
    assert not gc.isenabled()


def test_it_goes_on_after_an_error():
    with pytest.raises(KeyError):
        _fail_at_rest()
    assert gc.isenabled()


@garbage_collection.at_rest()
def _fail_at_rest() -> None:
    assert not gc.isenabled()
    raise KeyError


def test_cycles_that_were_made_meanwhile_are_found_later():
    with garbage_collection.at_rest():
        link = _Link()
        link.itself, ended = link, weakref.ref(link)
        del link
    assert ended() is not None
    gc.collect()
    assert ended() is None


class _Link:
    itself: _Link


def test_what_somebody_froze_stays_frozen():
    gc.freeze()
    with garbage_collection.at_rest():
        pass
    assert gc.get_freeze_count()
