"""What scripts say of their own blocks: a size for each, and the stack that the interpreter itself names.

`expect` is called on the line that allocates. A line of `report` is a block: its size, and its frames from the
innermost outwards, each as NAME:LINE.
"""

import sys
import threading

kept = []
sizes = iter(range(20_001, 10**9, 2))
lock = threading.Lock()
lines = []


def name(code):
    return getattr(code, "co_qualname", code.co_name)


def expect():
    """Notes the stack of the caller, and returns the size of its block."""
    frame, frames = sys._getframe(1), []
    while frame:
        frames.append(f"{name(frame.f_code)}:{frame.f_lineno}")
        frame = frame.f_back
    with lock:
        size = next(sizes)
        lines.append(f"{size} {' '.join(frames)}")
    # A bytearray has one byte more than it says.
    return size - 1


def report():
    sys.stdout.write("\n".join(lines) + "\n")
