"""Allocates a thousand blocks in functions that call each other in random ways, in four threads."""

import functools
import random
import re
import sys
import threading

from expected import expect, kept, report


def direct(random, depth):
    return go(random, depth)


def twice(random, depth):
    go(random, depth); return go(random, depth)


def by_lambda(random, depth):
    return (lambda depth: go(random, depth))(depth)


def by_generator(random, depth):
    def generate(random, depth):
        for step in range(2):
            go(
                random,
                depth - step,
            )
            yield step

    for _ in generate(random, depth):
        pass


def by_delegation(random, depth):
    def inner():
        yield go(random, depth)

    def outer():
        yield from inner()

    return list(outer())


def by_coroutine(random, depth):
    async def inner():
        return go(random, depth)

    async def outer():
        return await inner()

    coroutine = outer()
    try:
        coroutine.send(None)
    except StopIteration:
        pass


def by_comprehension(random, depth):
    return [go(random, depth) for _ in range(1)]


def by_sort(random, depth):
    return sorted([1], key=lambda _: go(random, depth) or 0)


def by_map(random, depth):
    return list(map(go, [random], [depth]))


def by_expression(random, depth):
    return re.sub("a", lambda _: str(go(random, depth)), "a")


def by_reduction(random, depth):
    return functools.reduce(lambda _, depth: go(random, depth), [0, depth])


def by_exception(random, depth):
    try:
        raise ValueError
    except ValueError:
        return go(random, depth)
    finally:
        go(random, 0)


def by_class(random, depth):
    class Made:
        made = go(random, depth)

        def __init__(self):
            go(random, 0)

    return Made()


def by_partial(random, depth):
    return functools.partial(go, random)(depth)


def by_execution(random, depth):
    lines = "\n" * random.randrange(5)
    space = {"go": go, "random": random, "depth": depth}
    exec(compile(f"def made():{lines}\n    go(random, depth)\n{lines}made()", "<string>", "exec"), space)


WAYS = [
    direct, twice, by_lambda, by_generator, by_delegation, by_coroutine, by_comprehension, by_sort, by_map,
    by_expression, by_reduction, by_exception, by_class, by_partial, by_execution,
]


def go(random, depth):
    if depth <= 0 or random.randrange(8) == 0:
        if len(kept) < 1000:
            kept.append(bytearray(expect()))
        return None
    return random.choice(WAYS)(random, depth - 1)


def work(seed):
    numbers = random.Random(seed)
    while len(kept) < 1000:
        go(numbers, numbers.randrange(12))


def main(seed):
    threads = [threading.Thread(target=work, args=(seed + number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    work(seed + 3)
    for thread in threads:
        thread.join()


main(int(sys.argv[1]))
report()
