# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes NAME.npz beside each program here: inputs (`in_x`) and what plain NumPy in f64 makes of them (`out_y`).

Knows nothing of the language: each attention is written once more, by hand. Needs NumPy; run it after adding a program.
"""

import os
import sys

import numpy as np

RANDOM = np.random.default_rng(11)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def bf16(x):
    """The nearest bf16, ties to even, as f64."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32).astype(float)


def bf16_bits(x):
    return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def attend(score, value, seen=None, sink=None):
    """Weights, mix and log-sum-exp along the last axis of `score`; `value` is [..., T, F]."""
    score = np.where(np.broadcast_to(True if seen is None else seen, score.shape), score, -np.inf)
    parts = score if sink is None else np.concatenate([score, np.broadcast_to(sink[..., None], score.shape[:-1] + (1,))], -1)
    with np.errstate(all="ignore"):
        lse = np.logaddexp.reduce(parts, axis=-1) if parts.shape[-1] else np.full(parts.shape[:-1], -np.inf)
        weights = np.where(score == -np.inf, 0, np.exp(score - lse[..., None]))
    return weights, weights @ np.where(np.isfinite(value), value, 0), lse


def rotate(x, angle, interleaved=False):
    """Turns pairs of the last axis of x; `angle` is [..., pairs]."""
    x, y, n = np.asarray(x, float), np.array(x, float), angle.shape[-1]
    first = 2 * np.arange(n) if interleaved else np.arange(n)
    second = first + (1 if interleaved else n)
    y[..., first] = x[..., first] * np.cos(angle) - x[..., second] * np.sin(angle)
    y[..., second] = x[..., first] * np.sin(angle) + x[..., second] * np.cos(angle)
    return y


def padded():
    b, s, d, h, e = 3, 5, 6, 2, 3
    x, wq, wk, wv, wo, bo = normal(b, s, d), normal(d, d), normal(d, d), normal(d, d), normal(d, d), normal(d)
    keep = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
    split = lambda w: (x.astype(float) @ w.T.astype(float)).reshape(b, s, h, e).transpose(0, 2, 1, 3)
    q, k, v = split(wq), split(wk), split(wv)
    seen = np.tril(np.ones((s, s), bool)) & keep[:, None, None, :]
    weights, mix, _ = attend(q @ k.swapaxes(-1, -2) / np.sqrt(e), v, seen)
    y = mix.transpose(0, 2, 1, 3).reshape(b, s, d) @ wo.T.astype(float) + bo
    return dict(x=x, keep=keep, wq=wq, wk=wk, wv=wv, wo=wo, bo=bo), dict(y=y, weights=weights)


def append():
    b, g, r, s, e, m = 2, 2, 2, 3, 4, 7
    q, k, v, freq = normal(b, g * r, s, e), normal(b, g, s, e), normal(b, g, s, e), np.array([1, 0.1], np.float32)
    keys, values = bf16(normal(b, g, m, e)), bf16(normal(b, g, m, e))
    past, count = np.array([4, 1], np.int32), np.array([3, 2], np.int32)
    inputs = dict(q=q, k=k, v=v, freq=freq, keys=bf16_bits(keys), values=bf16_bits(values), past=past, count=count)
    pos = past[:, None] + np.arange(s)
    angle = (pos[..., None] * freq.astype(float))[:, None]
    kr, qr = rotate(k, angle), rotate(q, angle).reshape(b, g, r, s, e)
    for i in range(b):
        for j in range(count[i]):
            keys[i, :, pos[i, j]] = bf16(kr[i, :, j])
            values[i, :, pos[i, j]] = bf16(v[i, :, j])
    seen = (np.arange(m) <= pos[:, None, None, :, None]) & (np.arange(s)[:, None] < count[:, None, None, None, None])
    score = np.einsum("bgrse,bgme->bgrsm", qr, keys) / np.sqrt(e)
    _, o, lse = attend(score, values[:, :, None], seen)
    return inputs, dict(o=o.reshape(b, g * r, s, e), lse=lse.reshape(b, g * r, s), keys=keys, values=values)


def pages():
    b, h, e, n, w = 3, 2, 4, 6, 2
    q, kpool, vpool = normal(b, h, e), normal(n, 4, h, e), normal(n, 4, h, e)
    page, length = np.array([[9, -1], [4, 99], [0, 3]], np.int32), np.array([0, 3, 8], np.int32)
    o = np.zeros((b, h, e))
    for i in range(b):
        rows = lambda pool: np.array([pool[page[i, t // 4], t % 4] for t in range(length[i])], float).reshape(-1, h, e)
        k, v = rows(kpool), rows(vpool)
        o[i] = attend(np.einsum("he,the->ht", q[i].astype(float), k)[:, None] / np.sqrt(e), v.swapaxes(0, 1))[1][:, 0]
    return dict(q=q, kpool=kpool, vpool=vpool, page=page, len=length), dict(o=o)


def documents():
    off, h, e = np.array([0, 3, 3, 8], np.int32), 2, 4
    q, k, v = normal(8, h, e), normal(8, h, e), normal(8, h, e)
    o, lse = np.zeros((8, h, e)), np.zeros((8, h))
    for first, last in zip(off, off[1:]):
        angle = np.arange(last - first)[:, None] * 100.0 ** (-np.arange(0, e, 2) / e)
        turn = lambda x: rotate(x[first:last], angle[:, None], True).swapaxes(0, 1)
        seen = np.tril(np.ones((last - first, last - first), bool))
        _, mix, log = attend(turn(q) @ turn(k).swapaxes(-1, -2) / np.sqrt(e), v[first:last].swapaxes(0, 1).astype(float), seen)
        o[first:last], lse[first:last] = mix.swapaxes(0, 1), log.T
    return dict(q=q, k=k, v=v, off=off), dict(o=o, lse=lse)


def sinks():
    b, g, r, s, t, e, f = 2, 2, 3, 4, 6, 5, 3
    q, k, v, sink = normal(b, g * r, s, e), normal(b, g, t, e), normal(b, g, t, f), normal(g * r)
    cap, window = np.float32(1.5), np.int64(2)
    score = q.reshape(b, g, r, s, e).astype(float) @ k[:, :, None].swapaxes(-1, -2) / np.sqrt(e)
    back = np.arange(s)[:, None] + t - s - np.arange(t)
    tall = np.broadcast_to(sink.reshape(g, r, 1).astype(float), (b, g, r, s))
    _, o, lse = attend(cap * np.tanh(score / cap), v[:, :, None].astype(float), (0 <= back) & (back < window), tall)
    return (dict(q=q, k=k, v=v, sink=sink, cap=cap, window=window),
            dict(o=o.reshape(b, g * r, s, f), lse=lse.reshape(b, g * r, s)))


def buckets():
    b, h, s, t, e = 2, 2, 20, 37, 3
    q, k, v, rel, start = normal(b, h, s, e), normal(b, h, t, e), normal(b, h, t, e), normal(12, h), np.array([0, 36], np.int32)
    bucket = np.zeros((s, t), int)
    for i in range(s):
        for j in range(t):
            d = abs(j - i)
            # No distance but 32 lies on a border of buckets, and there the minimum decides.
            bucket[i, j] = (d if d < 4 else min(4 + int(np.log(d / 4.0) / np.log(8.0) * 2), 5)) + (6 if j > i else 0)
    score = q.astype(float) @ k.swapaxes(-1, -2) + rel[bucket].transpose(2, 0, 1)
    _, o, _ = attend(score, v.astype(float), np.arange(t) >= start[:, None, None, None])
    return dict(q=q, k=k, v=v, rel=rel, start=start), dict(o=o)


def fp8(x):
    """The nearest e4m3, ties to even, saturating at 448."""
    step = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 1e-30))), -6) - 3)
    return np.clip(np.rint(x / step) * step, -448, 448)


def bytes_():
    b, t, h, e = 2, 5, 2, 4
    q, knew, past = normal(b, h, e), normal(b, h, e), np.array([4, 1], np.int32)
    knew[1, 0] = 0
    kq, ks = RANDOM.integers(-127, 128, (b, t, h, e)).astype(np.int8), np.abs(normal(b, t, h)) / 64
    vq, vs = RANDOM.integers(0, 256, (b, t, h, e // 2)).astype(np.uint8), normal(b, t, h).astype(np.float16)
    inputs = dict(q=q, knew=knew, kq=kq.copy(), ks=ks.copy(), vq=vq, vs=vs, seen=np.zeros((b, h, e), np.uint8), past=past)
    keys, scales = kq.astype(float), ks.astype(float)
    for i in range(b):
        scale = np.abs(knew[i].astype(float)).max(-1) / 127
        with np.errstate(all="ignore"):
            keys[i, past[i]] = np.where(scale[:, None] > 0, np.rint(knew[i] / scale[:, None]), 0)
        scales[i, past[i]] = scale.astype(np.float32)
    v = np.stack([vq & 15, vq >> 4], -1).reshape(b, t, h, e).astype(float) - 8
    v = (v * vs[..., None]).transpose(0, 2, 1, 3)
    score = np.einsum("bhe,bthe->bht", q.astype(float), keys * scales[..., None])[:, :, None] / np.sqrt(e)
    _, o, _ = attend(score, v, np.arange(t) <= past[:, None, None, None])
    return inputs, dict(o=o[:, :, 0], kq=keys, ks=scales, seen=fp8(100 * knew.astype(float)))


def philox(key, counter):
    """The first word of ten rounds on Python's integers."""
    c, k, low = [counter & 0xFFFFFFFF, counter >> 32, 0, 0], [key & 0xFFFFFFFF, key >> 32], 0xFFFFFFFF
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ k[0], b & low, (a >> 32) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + 0x9E3779B9) & low, (k[1] + 0xBB67AE85) & low]
    return c[0]


def dropout():
    b, h, s, t, e = 2, 2, 4, 5, 3
    q, k, v, slope = normal(b, h, s, e), normal(b, h, t, e), normal(b, h, t, e), np.array([0.5, 0.25], np.float32)
    p, seed, offset = np.float32(0.375), np.int64(2**40 + 3), np.int64(2**33)
    far = np.abs(np.arange(s)[:, None] - np.arange(t))
    w, _, _ = attend(q.astype(float) @ k.swapaxes(-1, -2) / np.sqrt(e) - slope[:, None, None] * far, v.astype(float))
    draws = np.array([philox(int(seed), int(offset) + i) >> 8 for i in range(w.size)]).reshape(w.shape) / 2.0**24
    o = np.where(draws < p, 0, w / (1 - float(p))) @ v
    return dict(q=q, k=k, v=v, slope=slope, p=p, seed=seed, offset=offset), dict(o=o)


def concat():
    b, h, s, e, a, p, u = 2, 2, 3, 4, 4, 2, 5
    q, k, v, pastk, pastv = normal(b, h, s, e), normal(b, h, a, e), normal(b, h, a, e), normal(b, h, p, e), normal(b, h, p, e)
    bias = normal(s, u)
    bias[1, :] = -np.inf
    allk, allv = np.concatenate([pastk, k], 2), np.concatenate([pastv, v], 2)
    score = q.astype(float) @ allk.swapaxes(-1, -2) / np.sqrt(e)
    t = np.arange(p + a)
    long = np.full((s, p + a), -np.inf)
    long[:, :u] = bias
    masked = np.where((t < u) & (t <= np.arange(s)[:, None] + p), score + long, -np.inf)
    _, o, _ = attend(masked, allv.astype(float))
    return dict(q=q, k=k, v=v, pastk=pastk, pastv=pastv, bias=bias), dict(o=o, allk=allk.astype(float), masked=masked)


def pairs():
    b, s, d, j, h, e, u = 2, 4, 5, 2, 2, 3, 6
    x, w, v, lam, gain = normal(b, s, d), normal(4 * j * e, d), normal(h, b, s, u), np.float32(0.3), normal(u)
    all_parts = (x.astype(float) @ w.T.astype(float)).reshape(b, s, 4, j, e)
    q, k = all_parts[:, :, :2], all_parts[:, :, 2:]
    score = np.einsum("bshje,bthje->bhjst", q, k) / np.sqrt(e)
    a, _, _ = attend(score, np.zeros((s, 1)), np.tril(np.ones((s, s), bool)))
    m = np.einsum("bhst,hbtu->bshu", a[:, :, 0] - float(lam) * a[:, :, 1], v.astype(float))
    gate = 1 / (1 + np.exp(-q.sum((-1, -2))))
    y = m / np.sqrt((m * m).mean(-1, keepdims=True) + 0.001) * gain * gate[..., None]
    return dict(x=x, w=w, v=v, lam=lam, gain=gain), dict(y=y)


def relative():
    b, h, s, t, e = 2, 2, 5, 7, 3
    q, k, v, r = normal(b, h, s, e), normal(b, h, t, e), normal(b, h, t, e), normal(s + t - 1, h, e)
    block = np.array([[[1, 0], [0, 0]], [[0, 1], [1, 1]]], bool)
    keys = k.astype(float)
    keys[:, :, 1:] += k[:, :, :-1]
    place = np.arange(t) - np.arange(s)[:, None] + s - 1
    score = (q.astype(float) @ keys.swapaxes(-1, -2) + np.einsum("bhse,sthe->bhst", q.astype(float), r[place])) / np.sqrt(e)
    seen = block[:, np.arange(s)[:, None] // 4, np.arange(t) // 4]
    _, o, _ = attend(score, v.astype(float), seen)
    return dict(q=q, k=k, v=v, r=r, block=block), dict(o=o, top=np.where(seen, score, -np.inf).max(-1))


PROGRAMS = dict(padded=padded, append=append, pages=pages, documents=documents, sinks=sinks, buckets=buckets, bytes=bytes_,
                dropout=dropout, concat=concat, pairs=pairs, relative=relative)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else here
    for name, make in PROGRAMS.items():
        inputs, outputs = make()
        arrays = {f"in_{key}": value for key, value in inputs.items()}
        arrays.update({f"out_{key}": np.asarray(value, np.float64) for key, value in outputs.items()})
        np.savez_compressed(os.path.join(folder, name + ".npz"), **arrays)


if __name__ == "__main__":
    main()
