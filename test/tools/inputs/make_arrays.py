# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes x.npy (bf16 as uint16), quarter.npy and all.npz into a folder."""
import os
import sys

import numpy as np

folder = sys.argv[1]
x = np.array([[1, -2, 3], [0.5, 0, 256]], np.float32)
bits = (x.view(np.uint32) >> 16).astype(np.uint16)  # exact: these need few digits
np.save(os.path.join(folder, "x.npy"), bits)
np.save(os.path.join(folder, "quarter.npy"), np.float32(0.25))
np.savez(os.path.join(folder, "all.npz"), x=bits, p=np.float32(0.5), unused=np.zeros(3))
