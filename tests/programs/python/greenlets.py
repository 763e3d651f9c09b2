"""Allocates in greenlets that go on at places other than those from which they were begun.

A greenlet's frames lie where the ones of its parent end when it begins, and again each time it goes on.
"""

import time

import greenlet

kept = []
main = greenlet.getcurrent()


def first():
    kept.append(bytearray(20_000))
    main.switch()
    kept.append(bytearray(20_100))
    main.switch()
    kept.append(bytearray(20_200))
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass


def deep(depth, what):
    return deep(depth - 1, what) if depth else what()


one = greenlet.greenlet(first)
deep(5, one.switch)
sorted([1], key=lambda _: one.switch())
one.switch()
kept.append(bytearray(20_300))
