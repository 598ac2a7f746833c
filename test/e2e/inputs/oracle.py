# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in f64, row by row from its definition, with bounds for an f32 evaluation. Knows nothing of attnc."""
import numpy as np

EPS = 2.0**-24


def attention(q, k, v, scale=None, seen=True, bias=0.0, change=None, slope=1.0, sink=None):
    """q[..., S, E], k[..., T, E], v[..., T, F] (leading dimensions broadcast). `seen` and `bias` broadcast to the
    scores; `change` is applied to scaled scores, with derivative at most `slope`; `sink` is one more logit per row.
    A pair that is not seen, or whose score is -inf, is absent. A dict of results, and bounds as NAME_bound."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    width, keys = q.shape[-1], k.shape[-2]
    scale = 1 / np.sqrt(width) if scale is None and width else scale if scale is not None else 0.0
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    shape = lead + (q.shape[-2], keys)
    seen = np.broadcast_to(np.asarray(seen, bool), shape)
    with np.errstate(all="ignore"):
        raw = np.broadcast_to(q @ np.swapaxes(k, -1, -2), shape) * scale
        size = np.broadcast_to(np.abs(q) @ np.swapaxes(np.abs(k), -1, -2), shape) * abs(scale)
        score = (change(raw) if change else raw) + bias
        score = np.broadcast_to(score, shape)
        seen = seen & (score != -np.inf)
        size = np.where(np.isfinite(score), (width + 8) * size * slope + 8 * (np.abs(score) + np.abs(bias)), 0) * EPS
        kept = np.where(seen, score, -np.inf)
        top = kept.max(-1, keepdims=True, initial=-np.inf)
        extra = None
        if sink is not None:
            extra = np.broadcast_to(np.asarray(sink, np.float64), shape[:-1])[..., None]
            top = np.maximum(top, extra)
        base = np.where(np.isfinite(top), top, np.where(top > 0, top, 0))
        part = np.where(seen, np.exp(kept - base), 0)
        part = np.where(seen & np.isnan(score), np.nan, part)
        total = part.sum(-1, keepdims=True)
        if extra is not None:
            total = total + np.exp(extra - base)
        weights = np.where(total == 0, 0, part / np.where(total == 0, 1, total))
        lse = (base + np.log(total))[..., 0]
        # What is absent must not meet the values: neither NaN nor infinity there may count.
        values = np.broadcast_to(v, lead + v.shape[-2:])
        product = np.where(seen[..., None], weights[..., None] * values[..., None, :, :], 0)
        mixed = product.sum(-2)
        sizes = np.abs(product).sum(-2)
        radius = np.where(seen, size, 0).max(-1, initial=0)
        error = 2 * radius + (keys + 16) * EPS
    return {"o": mixed, "weights": weights, "lse": lse, "scores": score,
            "o_bound": sizes * error[..., None] + 1e-37, "weights_bound": weights * error[..., None] + 1e-37,
            "lse_bound": radius + (keys + 16) * EPS + 4 * EPS * np.abs(lse), "scores_bound": size + 1e-37}


def close(got, expected, name="o"):
    """Fails unless `got` is within the bound of expected[name]; NaN and infinities must be where they should be."""
    got, want, bound = got.astype(np.float64), expected[name], expected[name + "_bound"]
    assert got.shape == want.shape, (name, got.shape, want.shape)
    with np.errstate(all="ignore"):
        right = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= bound)
    if not right.all():
        place = tuple(np.argwhere(~right)[0])
        raise AssertionError(f"{name}: {(~right).sum()} of {right.size} wrong; first at {place}: {got[place]} for "
                             f"{want[place]} (bound {np.broadcast_to(bound, want.shape)[place]:.3g})")


def numbers(*shape, seed=7, scale=1.0):
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * scale).astype(np.float32)


def same_bits(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape)
    assert (np.ascontiguousarray(a).view(np.uint8) == np.ascontiguousarray(b).view(np.uint8)).all(), "bits differ"
