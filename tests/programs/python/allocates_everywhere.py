"""Allocates blocks of a size each in every kind of frame, and prints which stack each of them has."""

import asyncio
import contextlib
import ctypes
import re
import threading

from expected import expect, kept, report


def plain():
    kept.append(bytearray(expect()))


class Row:
    def __init__(self):
        kept.append(bytearray(expect()))

    def method(self):
        kept.append(bytearray(expect()))

    @property
    def shown(self):
        kept.append(bytearray(expect()))

    @staticmethod
    def made():
        return Row()

    @classmethod
    def of_class(cls):
        return cls()

    def __len__(self):
        kept.append(bytearray(expect()))
        return 1

    def __getitem__(self, index):
        kept.append(bytearray(expect()))
        return index

    def __del__(self):
        kept.append(bytearray(expect()))


def recurse(depth):
    if depth:
        return recurse(
            depth - 1
        )
    kept.append(bytearray(expect()))


def raises():
    try:
        kept.append(bytearray(expect()))
        raise ValueError
    except ValueError:
        kept.append(bytearray(expect()))
        try:
            raise KeyError
        finally:
            kept.append(bytearray(expect()))


def unwinds():
    with contextlib.suppress(KeyError):
        raises()
    kept.append(bytearray(expect()))


def generate(count):
    for _ in range(count):
        kept.append(bytearray(expect()))
        yield


def delegate(count):
    kept.append(bytearray(expect()))
    yield from generate(count)


async def coroutine(depth):
    kept.append(bytearray(expect()))
    if depth:
        await coroutine(depth - 1)
    await asyncio.sleep(0)
    kept.append(bytearray(expect()))


async def generate_later():
    for _ in range(2):
        kept.append(bytearray(expect()))
        yield
        await asyncio.sleep(0)


async def gather():
    await asyncio.gather(coroutine(2), coroutine(1))
    async for _ in generate_later():
        kept.append(bytearray(expect()))


@contextlib.contextmanager
def context():
    kept.append(bytearray(expect()))
    yield
    kept.append(bytearray(expect()))


def compare(one):
    kept.append(bytearray(expect()))
    return one


def replace(match):
    kept.append(bytearray(expect()))
    return "x"


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
def order(one, other):
    kept.append(bytearray(expect()))
    return one[0] - other[0]


def sort_in_c():
    numbers = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(numbers, 2, ctypes.sizeof(ctypes.c_int), order)


def calls_back():
    sorted([2, 1], key=compare)
    re.sub("a", replace, "aa")
    list(map(compare, [1]))
    sort_in_c()
    max([1, 2], key=lambda one: kept.append(bytearray(expect())) or one)
    [kept.append(bytearray(expect())) for _ in range(2)]
    {number: kept.append(bytearray(expect())) for number in range(2)}
    list(kept.append(bytearray(expect())) for _ in range(2))


def decorated(function):
    def around(*arguments, **named):
        kept.append(bytearray(expect()))
        return function(*arguments, **named)

    return around


@decorated
def inner(*, number):
    kept.append(bytearray(expect())); kept.append(bytearray(expect()))


def evaluated():
    exec(compile("\n\nkept.append(bytearray(expect()))", "made.py", "exec"))
    eval("kept.append(bytearray(expect()))")
    space = dict(kept=kept, expect=expect)
    exec("def made():\n    kept.append(bytearray(expect()))\nmade()", space)


def dies():
    """Code objects that take each other's places."""
    for number in range(50):
        space = dict(kept=kept, expect=expect)
        source = "\n" * (number % 7) + f"def made_{number:03}():\n    kept.append(bytearray(expect()))\nmade_{number:03}()\n"
        exec(compile(source, f"file_{number:03}.py", "exec"), space)
        del space


def in_threads():
    def work(depth):
        recurse(depth)
        for _ in generate(3):
            plain()

    threads = [threading.Thread(target=work, args=(depth,)) for depth in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def naïve_ünïcode_日本():
    kept.append(bytearray(expect()))


def deep(depth):
    if depth % 3 == 0:
        return sorted([depth], key=lambda _: deep(depth - 1))[0] if depth else plain()
    return deep(depth - 1)


def main():
    plain()
    row = Row.made()
    row.method()
    row.shown
    Row.of_class()
    len(row), row[0]
    del row
    recurse(0)
    recurse(5)
    recurse(100)
    unwinds()
    for _ in delegate(3):
        kept.append(bytearray(expect()))
    asyncio.run(gather())
    with context():
        kept.append(bytearray(expect()))
    calls_back()
    inner(number=1)
    evaluated()
    dies()
    in_threads()
    naïve_ünïcode_日本()
    deep(40)


main()
report()
