# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kernels.py make KERNEL DIR writes inputs; kernels.py check KERNEL DIR compares what the kernel wrote with f64, within the error
that f32 sums in any order can have."""
import os
import sys

import numpy

EPSILON = 2.0 ** -24


def sums(terms, count):
    """A sum of `count` f32 terms, each with a few roundings of its own, along the last axis: value and bound."""
    return terms.sum(-1), (count + 4) * EPSILON * numpy.abs(terms).sum(-1)


def matmul(load):
    a, b = load("a"), load("b")
    yield ("c", *sums(a[:, None, :] * b.T[None, :, :], a.shape[1]))


def reduce(load):
    x = load("x")
    yield ("y", *sums(x, x.shape[1]))


def softmax(load):
    scores, v = load("scores"), load("v")
    scores = numpy.where(numpy.tri(len(v), dtype=bool), scores, -numpy.inf)
    top = scores.max(-1, keepdims=True)
    weights = numpy.exp2(scores - top)
    total = weights.sum(-1)
    # ex2.approx is off by 2 units; a rescaling a step adds as much.
    slack = 8 * len(v) * EPSILON
    yield "y", (weights * v).sum(-1) / total, slack * (weights * numpy.abs(v)).sum(-1) / total
    yield "lse", top[:, 0] + numpy.log2(total), slack * 2 + EPSILON * numpy.abs(top[:, 0])


def flash(load):
    q, k, v = load("q"), load("k"), load("v")
    scale = numpy.float32(FLASH_SCALE)
    seen = numpy.tri(q.shape[1], dtype=bool)
    scores = numpy.where(seen, q @ k.swapaxes(1, 2) * scale, -numpy.inf)
    # What a score in f32 may be off by, and what that is in a weight.
    off = (70 * EPSILON * scale * (numpy.abs(q) @ numpy.abs(k).swapaxes(1, 2)) * seen).max(-1, keepdims=True)
    top = scores.max(-1, keepdims=True)
    weights = numpy.exp2(scores - top)
    total = weights.sum(-1, keepdims=True)
    # Weights are rounded to halves, small ones to a multiple of 2^-24.
    weight_bound = weights * (2.0 ** -11 + 4 * off + 8 * q.shape[1] * EPSILON) + 2.0 ** -24 * seen
    yield "y", weights @ v / total, 2 * weight_bound @ numpy.abs(v) / total
    yield "lse", (top + numpy.log2(total))[..., 0], (2 * off + 8 * q.shape[1] * EPSILON)[..., 0]


#: log2(e) / sqrt(64)
FLASH_SCALE = 0.18033688

INPUTS = {
    matmul: {"a": ((70, 72), numpy.float16), "b": ((72, 72), numpy.float16)},
    reduce: {"x": ((5, 300), numpy.float32)},
    flash: {name: ((2, 150, 64), numpy.float16) for name in "qkv"},
    softmax: {"scores": ((37, 37), numpy.float32), "v": ((37,), numpy.float32)},
}


def main():
    verb, name, folder = sys.argv[1:]
    kernel = globals()[name]
    random = numpy.random.default_rng(1)

    def load(array):
        return numpy.load(os.path.join(folder, array + ".npy")).astype(numpy.float64)

    if verb == "make":
        for array, (shape, dtype) in INPUTS[kernel].items():
            numpy.save(os.path.join(folder, array), (2 * random.standard_normal(shape)).astype(dtype))
        return 0
    wrong = 0
    for array, expected, bound in kernel(load):
        error = numpy.abs(load(array) - expected)
        bad = ~(error <= bound)
        wrong += bad.sum()
        print(f"{array}: {bad.sum()} of {bad.size} wrong, worst error / bound {numpy.nanmax(error / bound):.3g}")
    return 1 if wrong else 0


sys.exit(main())
