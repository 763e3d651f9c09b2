"""Tests for pytest with limits: some hold, some do not."""

import pytest

KEPT = []
CACHE = {}


@pytest.mark.limit_memory("1 MB")
def test_holds_little():
    bytearray(100_000)


@pytest.mark.limit_memory("1 MB")
def test_holds_much():
    bytearray(3_000_000)


@pytest.mark.limit_memory("400 KB")
@pytest.mark.limit_leaks("100 KB")
def test_leaves_much():
    KEPT.append(bytearray(500_000))


@pytest.mark.limit_leaks("100 KB", warmups=1)
def test_fills_a_cache():
    CACHE.setdefault("it", bytearray(500_000))


@pytest.mark.limit_leaks("100 KB")
def test_makes_a_circle():
    circle = [bytearray(500_000)]
    circle.append(circle)


@pytest.mark.limit_memory("1 MB")
@pytest.mark.parametrize("one, other", [(1, 2), (3, 4)])
def test_has_cases(one, other):
    assert one < other


def test_is_not_limited():
    KEPT.append(bytearray(5_000_000))
