//===- NumpyHelpers.cpp - what printed NumPy calls --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `seen` says where a value is present: an array of bool, or True.
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Numpy.h"

using namespace attn::language;

namespace {
struct Helper {
  const char *name, *text;
};
} // namespace

static constexpr Helper allHelpers[] = {
    {"_axis", R"(def _axis(extent, number, axes):
    """The index along one of the axes."""
    return np.arange(extent).reshape([-1 if axis == number else 1 for axis in range(axes)])
)"},
    {"_at", R"(def _at(array, *places):
    """Elements by place; what is outside gives some number, and is not looked at."""
    places = np.broadcast_arrays(*places)
    if array.size == 0:
        return np.zeros(places[0].shape, array.dtype)
    return array[tuple(np.clip(place, 0, extent - 1) for place, extent in zip(places, array.shape))]
)"},
    {"_store", R"(def _store(array, places, value, seen=True):
    """Writes what is seen, rounded to the array's type; integers stop at their largest value."""
    *places, value, seen = np.broadcast_arrays(*places, value, seen)
    places = tuple(place[seen] for place in places)
    assert all(((0 <= place) & (place < extent)).all() for place, extent in zip(places, array.shape)), "written outside"
    value = value[seen]
    if np.issubdtype(array.dtype, np.integer):
        limits = np.iinfo(array.dtype)
        value = np.clip(np.rint(value), limits.min, limits.max)
    array[places] = value
)"},
    {"_dot", R"(def _dot(a, b, over, seen=None):
    """The sum of the products that are seen along axes, which stay with extent 1."""
    if seen is not None:
        return np.where(seen, a * b, 0).sum(over, keepdims=True)
    axes = list(range(a.ndim))
    left = [axis for axis in axes if axis not in over]
    return np.expand_dims(np.einsum(a, axes, b, axes, left), over)
)"},
    {"_mean", R"(def _mean(x, over, seen=True):
    x, seen = np.broadcast_arrays(x, seen)
    return np.where(seen, x, 0).sum(over, keepdims=True) / np.maximum(seen.sum(over, keepdims=True), 1)
)"},
    {"_softmax", R"(def _softmax(x, over, seen=True, sink=-np.inf):
    """Weights of the scores that are seen; a sink is one more score, without a weight."""
    x = np.where(seen, x, -np.inf)
    top = np.maximum(x.max(over, keepdims=True, initial=-np.inf), sink)
    top = np.where(np.isneginf(top), 0, top)
    part = np.exp(x - top)
    total = part.sum(over, keepdims=True) + np.exp(sink - top)
    return part / np.where(total == 0, 1, total)
)"},
    {"_logsumexp", R"(def _logsumexp(x, over, seen=True, sink=-np.inf):
    x = np.where(seen, x, -np.inf)
    top = np.maximum(x.max(over, keepdims=True, initial=-np.inf), sink)
    top = np.where(np.isneginf(top), 0, top)
    return top + np.log(np.exp(x - top).sum(over, keepdims=True) + np.exp(sink - top))
)"},
    {"_rope", R"(def _rope(x, cos, sin, axis, pairs, interleaved=False):
    """Turns pairs along an axis; the pairs' own axis takes its place in cosines and sines."""
    x, cos, sin = np.moveaxis(x, axis, -1), *(np.moveaxis(y.swapaxes(axis, pairs), axis, -1) for y in (cos, sin))
    n = cos.shape[-1]
    one, two = (np.s_[..., 0:2 * n:2], np.s_[..., 1:2 * n:2]) if interleaved else (np.s_[..., :n], np.s_[..., n:2 * n])
    a, b, lead = x[one], x[two], np.broadcast_shapes(x.shape[:-1], cos.shape[:-1])
    y = np.broadcast_to(x, lead + x.shape[-1:]).copy()
    y[one], y[two] = a * cos - b * sin, a * sin + b * cos
    return np.moveaxis(y, -1, axis)
)"},
    {"_int", R"(def _int(x):
    """Towards zero; what no 64-bit integer holds gives 0."""
    return np.where(np.abs(x) < 2.0**63, x, 0).astype(np.int64)
)"},
    {"_random", R"(def _random(seed, counter):
    """In [0, 1): the upper 24 bits of the first word of Philox 4x32-10 (Salmon et al., 2011)."""
    seed, counter = np.broadcast_arrays(np.asarray(seed).astype(np.uint64), np.asarray(counter).astype(np.uint64))
    word, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [counter & word, counter >> half, np.uint64(0), np.uint64(0)]
    k = [seed & word, seed >> half]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> half) ^ c[1] ^ k[0], b & word, (a >> half) ^ c[3] ^ k[1], a & word]
        k = [k[0] + np.uint64(0x9E3779B9) & word, k[1] + np.uint64(0xBB67AE85) & word]
    return (c[0] >> np.uint64(8)).astype(float) / 2.0**24
)"},
};

std::string attn::language::numpyHelpers(const llvm::StringSet<> &used) {
  std::string text;
  for (const Helper &helper : allHelpers)
    if (used.contains(helper.name))
      text += std::string("\n\n") + helper.text;
  return text;
}
