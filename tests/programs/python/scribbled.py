"""Overwrites its own frames, code and thread state while it allocates, and puts everything back."""

import ctypes
import random
import sys

library = ctypes.PyDLL(sys.argv[1])
library.scribble.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
random.seed(int(sys.argv[2]))

# The innermost frame of the interpreter is the second or third word of the frame object, or behind it.
frame = sys._getframe()
code = frame.f_code
places = [
    (id(frame), 12),
    (id(code), 26),
    (id(code.co_name), 6),
    (id(code.co_filename), 6),
    (id(getattr(code, "co_linetable", None) or code.co_lnotab), 6),
]
inner = ctypes.c_uint64.from_address(id(frame) + 24).value
if sys.version_info >= (3, 11):
    places.append((inner, 9))
ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
state = ctypes.pythonapi.PyThreadState_Get()
places.append((state, 40))
page = 4096


def values():
    real = [id(frame), id(code), inner, state, id(values), id(type(code))]
    near = [address + 8 * random.randrange(-64, 64) for address in real]
    odd = [address + random.randrange(1, 8) for address in real]
    wild = [0, 1, 7, 8, page, 2**47 - 8, 2**47, 2**63, 2**64 - 1, 2**64 - 8, random.getrandbits(64), random.getrandbits(46) * 8]
    return [value % 2**64 for value in real + near + odd + wild]


def scribble(address, words):
    many = values()
    library.scribble(address, words, (ctypes.c_uint64 * len(many))(*many), len(many), 30_001)


for address, words in places:
    scribble(address, words)
kept = bytearray(30_002)
print("survived")
