# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs for the kernels of served.attn: odd extents, lengths of their own, caches of which only a part is filled.

    for name, arguments, sequences in calls(unused=np.nan): ...

`unused` fills what no sequence uses: cache slots behind the filled part, pages that belong to nobody.
"""
import numpy as np
from oracle import numbers

RNG = 11


def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def filled(cache, lengths, axis, unused):
    """`cache[b]` as it is up to lengths[b] along `axis` (counted without b), `unused` behind."""
    for b, length in enumerate(lengths):
        np.moveaxis(cache[b], axis, 0)[length:] = unused
    return cache


def layer(D=24, E=8, G=2, R=3):
    return {name: numbers(*shape, seed=i, scale=D**-0.5) for i, (name, shape) in enumerate(
        dict(wq=(G * R * E, D), wk=(G * E, D), wv=(G * E, D), wo=(D, G * R * E)).items())}


def cached(unused, past=(0, 13, 61), S=5, M=67):
    B, past = len(past), np.array(past, np.int32)
    caches = {name: filled(numbers(B, 2, M, 8, seed=i), past, 1, unused) for i, name in enumerate(("kcache", "vcache"))}
    return dict(x=numbers(B, S, 24), past=past, **layer(), **caches)


def whole():
    return dict(x=numbers(2, 37, 24), **layer())


def pages(lengths, pools, shape, unused, size=8, spare=5):
    """A table of distinct pages for sequences of these lengths, and pools in which only their slots are filled."""
    counts = [-(-length // size) for length in lengths]
    order = np.random.default_rng(RNG).permutation(sum(counts) + spare)
    table = np.full((len(lengths), max(counts) + 1), 2**31 - 1, np.int32)  # No page at all.
    filled = {name: np.full((len(order),) + shape, unused, np.float32) for name in pools}
    for b, count in enumerate(counts):
        table[b, :count] = order[sum(counts[:b]):sum(counts[:b + 1])]
    return table, filled


def paged(unused, past=(0, 20, 7, 0, 64), new=(3, 1, 0, 5, 4), S=5, E=12):
    past, new = np.array(past, np.int32), np.array(new, np.int32)
    B = len(past)
    table, pools = pages(past + new, ("kpool", "vpool"), (8, 2, E), unused)
    for i, pool in enumerate(pools.values()):
        for b in range(B):
            for t in range(past[b]):
                pool[table[b, t // 8], t % 8] = numbers(2, E, seed=1000 * i + 100 * b + t)
    values = {name: numbers(B, heads, S, E, seed=i) for i, (name, heads) in
              enumerate((("q", 4), ("knew", 2), ("vnew", 2)))}
    for value in values.values():
        filled(value, new, 1, unused)
    return dict(past=past, new=new, page=table, **values, **pools)


def split(unused, lengths=(5, 0, 40, 16), E=12):
    table, pools = pages(lengths, ("kpool", "vpool"), (2, E, 8), unused)
    counts = [-(-length // 8) for length in lengths]
    ids = np.concatenate([table[b, :count] for b, count in enumerate(counts)]).astype(np.int32)
    for i, pool in enumerate(pools.values()):
        for b, length in enumerate(lengths):
            for t in range(length):
                pool[table[b, t // 8], :, :, t % 8] = numbers(2, E, seed=1000 * i + 100 * b + t)
    N = len(pools["kpool"])
    pools["kpool"] = np.ascontiguousarray(pools["kpool"].reshape(N, 2, E // 4, 4, 8).swapaxes(3, 4))
    return dict(q=numbers(len(lengths), 4, E), ids=ids, first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
                len=np.array(lengths, np.int32), **pools)


def packed(lengths=(0, 33, 1, 70), E=10, F=7):
    total = sum(lengths)
    values = {name: to_bf16(numbers(total, heads, width, seed=i)) for i, (name, heads, width) in
              enumerate((("q", 4, E), ("k", 2, E), ("v", 2, F)))}
    return dict(off=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), **values)


def quantised(unused, past=(0, 9, 36), T=37, E=12):
    B, past, rng = len(past), np.array(past, np.int32), np.random.default_rng(RNG)
    return dict(
        q=numbers(B, 4, E), knew=numbers(B, 2, E, seed=1), past=past,
        kq=rng.integers(-128, 128, (B, T, 2, E), np.int8), vq=rng.integers(0, 256, (B, T, 2, E // 2), np.uint8),
        ks=filled(np.abs(numbers(B, T, 2)), past, 0, unused),
        vs=filled(np.abs(numbers(B, T, 2, E // 4, seed=2)).astype(np.float16), past + 1, 0, unused))


def latent(unused, past=(0, 25), S=3, M=29, D=14, L=9, C=11, H=3, N=8, R=4, U=6):
    B, past = len(past), np.array(past, np.int32)
    shapes = dict(wqa=(L, D), gq=(L,), wqb=(H * (N + R), L), wkva=(C + R, D), gkv=(C,), wkvb=(H * (N + U), C), wo=(D, H * U))
    weights = {name: numbers(*shape, seed=i, scale=shape[-1]**-0.5 if len(shape) > 1 else 1.0)
               for i, (name, shape) in enumerate(shapes.items())}
    return dict(x=numbers(B, S, D), freq=np.float32(10000)**(-np.arange(R // 2, dtype=np.float32)), past=past,
                latents=filled(numbers(B, M, C, seed=8), past, 0, unused),
                rotary=filled(numbers(B, M, R, seed=9), past, 0, unused), **weights)


def cascade(unused, lengths=(0, 17, 40), P=21, M=40, E=12):
    B = len(lengths)
    own = {name: filled(numbers(B, M, 2, E, seed=i), lengths, 0, unused) for i, name in enumerate(("kown", "vown"))}
    return dict(q=numbers(B, 6, E), kshare=numbers(P, 2, E, seed=3), vshare=numbers(P, 2, E, seed=4),
                len=np.array(lengths, np.int32), **own)


def calls(unused=0):
    """Every kernel's name with arguments for it, and an array for each result along a ragged axis."""
    for make in (cached, paged, split, quantised, latent, cascade):
        yield make.__name__, make(unused), {}
    yield "whole", whole(), {}
    arguments = packed()
    q, v = arguments["q"], arguments["v"]
    yield "packed", arguments, {"o": np.zeros(q.shape[:2] + v.shape[2:], np.uint16)}


def fresh(arguments):
    """A copy: kernels change the arrays of inout arguments."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
