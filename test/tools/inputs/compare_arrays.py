# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scaled.attn must have made of make_arrays.py's input."""
import os
import sys

import numpy as np

x = np.array([[1, -2, 3], [0.5, 0, 256]], np.float32)
for folder, factor in (("npy", 0.5), ("npz", 0.5), ("mixed", 0.25)):
    y = np.load(os.path.join(sys.argv[1], folder, "y.npy"))
    assert y.dtype == np.float32 and np.array_equal(y, x * factor), folder
    z = np.load(os.path.join(sys.argv[1], folder, "z.npy"))
    assert z.dtype.itemsize == 2, z.dtype
    z = (z.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(z, x * factor), folder
