# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tutorial's layer in NumPy and f64, and inputs for it. Knows nothing of attnc."""
import numpy as np

from oracle import numbers


def weights(width):
    return {name: numbers(width, width, seed=seed, scale=width**-0.5) for seed, name in enumerate(("wq", "wk", "wv", "wo"))}


def layer(x, wq, wk, wv, wo, heads, keep=None):
    """Output and attention weights; `keep` is false at padded positions."""
    batch, length, width = x.shape
    split = lambda y: y.reshape(batch, length, heads, width // heads).swapaxes(1, 2)
    q, k, v = (split(x.astype(np.float64) @ w.T.astype(np.float64)) for w in (wq, wk, wv))
    score = q @ k.swapaxes(-1, -2) / np.sqrt(width // heads)
    seen = np.tri(length, dtype=bool)
    if keep is not None:
        seen = seen & keep[:, None, None, :]
    seen = np.broadcast_to(seen, score.shape)
    part = np.where(seen, np.exp(score - np.where(seen, score, -1e300).max(-1, keepdims=True)), 0)
    total = part.sum(-1, keepdims=True)
    attention = part / np.where(total == 0, 1, total)
    mixed = (attention @ v).swapaxes(1, 2).reshape(batch, length, width)
    return mixed @ wo.T.astype(np.float64), attention
