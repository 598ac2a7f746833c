# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ramp.py FILE makes 0, 1, … 9; ramp.py FILE FACTOR checks that it holds those times the factor."""
import sys

import numpy

ramp = numpy.arange(10, dtype=numpy.float32)
if len(sys.argv) == 2:
    numpy.save(sys.argv[1], ramp)
else:
    numpy.testing.assert_array_equal(numpy.load(sys.argv[1]), ramp * numpy.float32(sys.argv[2]))
