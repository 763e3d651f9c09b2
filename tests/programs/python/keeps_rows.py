"""Gives rows to an extension, which never frees them, from a function that the extension calls back."""

import sys

sys.path.insert(0, sys.argv[1])
import kept_rows


class Table:
    def __init__(self):
        self.count = 0

    def load(self, row):
        kept_rows.keep(bytes(40_000))
        self.count += 1


def main():
    table = Table()
    kept_rows.each(table.load, 5)
    return table.count


print(main())
