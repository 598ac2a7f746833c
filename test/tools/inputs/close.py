# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails unless two arrays of f32 agree to a few units in the last place of their largest element."""
import sys

import numpy as np

a, b = (np.load(path).astype(np.float64) for path in sys.argv[1:3])
assert a.shape == b.shape, (a.shape, b.shape)
assert np.abs(a - b).max() <= 2e-6 * np.abs(b).max(), np.abs(a - b).max()
