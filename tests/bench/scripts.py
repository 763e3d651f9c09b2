"""Python functions that allocate, call and return; prints the CPU time of each way in ns a round, of this thread.

  loop        a function allocates in a loop, 12 functions deep
  calls       a function calls another one for each block, 12 functions deep
  methods     objects are made, changed and dropped by methods that call each other
  tree        a tree is built and summed up by recursion: each node has a stack of its own
  generators  values pass through four generators
"""

import sys
import time


def nest(depth, body, rounds):
    if depth:
        return nest(depth - 1, body, rounds)
    return body(rounds)


def allocate(number):
    return [number]


def loop(rounds):
    for number in range(rounds):
        kept = [number]
    return kept


def calls(rounds):
    for number in range(rounds):
        kept = allocate(number)
    return kept


class Account:
    def __init__(self, owner):
        self.owner = owner
        self.entries = []

    def add(self, amount):
        self.entries.append(self.entry(amount))
        return self.total()

    def entry(self, amount):
        return {"owner": self.owner, "amount": amount}

    def total(self):
        return sum(entry["amount"] for entry in self.entries)


def methods(rounds):
    for number in range(rounds // 8):
        account = Account(str(number))
        for amount in (1000, 2000):
            account.add(amount)
    return account


def grow(depth):
    return [grow(depth - 1), grow(depth - 1)] if depth else [depth]


def weigh(tree):
    return 1000 + sum([weigh(branch) for branch in tree]) if len(tree) == 2 else 1000


def tree(rounds):
    for _ in range(rounds // 1024):
        weigh(grow(9))


def numbers(rounds):
    for number in range(rounds // 4):
        yield number + 1000


def generators(rounds):
    texts = (str(number) for number in numbers(rounds))
    pairs = ((text, [text]) for text in texts)
    return sum(len(kept) for _, kept in pairs)


WAYS = {"loop": loop, "calls": calls, "methods": methods, "tree": tree, "generators": generators}


def main(rounds):
    for name, way in WAYS.items():
        nest(8, way, 1024)
        before = time.thread_time_ns()
        nest(8, way, rounds)
        print(f"{name} {(time.thread_time_ns() - before) / rounds:.1f}")


main(int(sys.argv[1]))
