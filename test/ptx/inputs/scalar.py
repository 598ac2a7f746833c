# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scalar.py make IN.npy; scalar.py check IN.npy OUT.npy LIBRARY compares with the same code on this machine, bit for bit."""
import ctypes
import sys

import numpy

COUNT, RESULTS = 128, 28
if sys.argv[1] == "make":
    random = numpy.random.default_rng(3)
    values = random.integers(-2 ** 63, 2 ** 63 - 1, (COUNT, 2))
    # Numbers of all magnitudes, and the ends.
    values >>= random.integers(0, 63, (COUNT, 2))
    values[:4] = [[0, 0], [-2 ** 63, 6], [2 ** 63 - 1, 1], [-1, -2 ** 63]]
    numpy.save(sys.argv[2], values)
    sys.exit(0)
values, out = numpy.load(sys.argv[2]), numpy.load(sys.argv[3])
expected = numpy.zeros((COUNT, RESULTS), numpy.int64)
ctypes.CDLL(sys.argv[4]).scalar(expected.ctypes.data_as(ctypes.c_void_p), values.ctypes.data_as(ctypes.c_void_p), COUNT)
wrong = expected != out
for i, j in numpy.argwhere(wrong)[:10]:
    a, b = values[i]
    print(f"result {j} of {a:#x}, {b:#x}: {int(out[i, j]) % 2**64:#x}, expected {int(expected[i, j]) % 2**64:#x}")
print(f"{wrong.sum()} of {wrong.size} differ")
sys.exit(int(wrong.any()))
