# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attnc: kernels.attn compiled ahead of time into a shared library, called through the C interface."""
import ctypes
import json
import os
import pathlib
import subprocess
import tempfile

import ml_dtypes
import numpy as np

from cases import DOCUMENTS, slopes

here = pathlib.Path(__file__).resolve().parent
attnc = os.environ.get("ATTNC", str(here.parents[2] / "build/bin/attnc"))
target = os.environ.get("ATTNC_TARGET", "host")
CODES = {np.dtype(np.float32): (2, 32), np.dtype(np.float16): (2, 16), np.dtype(ml_dtypes.bfloat16): (4, 16),
         np.dtype(np.int8): (0, 8), np.dtype(np.int32): (0, 32)}


class Tensor(ctypes.Structure):
    """DLPack's DLTensor on the CPU, compact."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]

    def __init__(self, array):
        self.array = array
        self.extents = (ctypes.c_int64 * array.ndim)(*array.shape)
        code, bits = CODES[array.dtype]
        super().__init__(array.ctypes.data, (1, 0), array.ndim, code, bits, 1, self.extents, None, 0)


def compile(spec, kernel, options):
    """The kernel of a spec, ready to be called with tensors, and what compiling took."""
    folder = pathlib.Path(tempfile.mkdtemp())
    path = folder / "kernels.attn"
    path.write_text(spec)
    subprocess.run([attnc, "compile", path, f"--kernel={kernel}", f"--target={target}", "--emit=shared", "-o", folder, *options], check=True,
                   capture_output=True)
    library = ctypes.CDLL(str(next(folder.glob("*.so"))))
    return getattr(library, kernel), library


def runtime():
    """attnc's runtime, a static library, as one that can be loaded."""
    library = pathlib.Path(tempfile.mkdtemp()) / "runtime.so"
    archive = pathlib.Path(attnc).resolve().parents[1] / "runtime/libattn_runtime.a"
    llvm = pathlib.Path("/usr/lib/llvm-22")
    subprocess.run([llvm / "bin/clang", "-shared", "-o", library, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
                    "-fopenmp", f"-Wl,-rpath,{llvm}/lib"], check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def caller(kernel, library, threads, arrays):
    """A function that calls the kernel with these arrays; it fails with the kernel's own words."""
    message = ctypes.create_string_buffer(512)
    context = (ctypes.c_uint64 * 11)()
    hooks = runtime()
    hooks.attn_context_init(context, ctypes.c_size_t(88))
    hooks.attn_context_set_threads(context, ctypes.c_int32(threads))
    context[8], context[9] = ctypes.addressof(message), len(message)
    tensors = [Tensor(x) for x in arrays]
    pointers = [ctypes.byref(context), *(ctypes.byref(t) for t in tensors)]

    def call():
        if kernel(*pointers):
            raise RuntimeError(message.value.decode())

    call.kept = (message, context, tensors, library, hooks)
    return call


def paged(x, dtype):
    """[B, G, T, D] as pages [N, 16, G, D] in mixed order, and their table [B, W]."""
    batch, heads, keys, width = x.shape
    pages = -(-keys // 16)
    padded = np.zeros((batch, heads, pages * 16, width), dtype)
    padded[:, :, :keys] = x
    rows = padded.transpose(0, 2, 1, 3).reshape(batch * pages, 16, heads, width)
    order = np.random.default_rng(1).permutation(batch * pages)
    pool = np.empty(rows.shape, dtype)
    pool[order] = rows
    return pool, order.reshape(batch, pages).astype(np.int32)


def quantised(x):
    """i8 and a scale per row."""
    largest = np.abs(x).max(-1) / np.float32(127)
    return np.rint(x / largest[..., None]).astype(np.int8), largest


def sinks(case):
    return np.array(slopes(case.heads), np.float32)


def aligned(array):
    """A compact copy that begins at a cache line."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    copy = memory[-memory.ctypes.data % 64:][:array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def layer(case, given, threads):
    result = np.zeros(given.x.shape, np.float32)
    spec = (here.parent / "layer.attn").read_text()
    isPacked, weights = case.storage == "packed", given.weights
    if isPacked:  # what attn_pack does
        weights = [aligned(w.reshape(-1, 16, w.shape[1]).transpose(0, 2, 1)) for w in weights]
    kernel, library = compile(spec, "layer", ["--packed=wq,wk,wv,wo"] if isPacked else [])
    return caller(kernel, library, threads, [given.x, *weights, result]), None, {}


def attention(case, given, threads):
    if case.kind == "layer":
        return layer(case, given, threads)
    stored = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i8": np.float32}[case.dtype]
    spec = (here / "kernels.attn").read_text()
    if case.dtype in ("bf16", "f16"):
        spec = spec.replace("f32[B", case.dtype + "[B").replace("f32[N", case.dtype + "[N")
    kernel = case.mask if case.score == "plain" else case.score
    query, key, value = (x.astype(stored) for x in (given.query, given.key, given.value))
    arrays = [query, key, value]
    lengths = np.array(case.lengths(), np.int32)
    if case.dtype == "i8":
        kernel, arrays = "scaled", [query, *quantised(given.key), *quantised(given.value)]
    elif case.score == "sinks":
        pool, table = paged(given.key, stored)
        kernel, arrays = "served", [query, pool, paged(given.value, stored)[0], table, lengths, sinks(case)]
    elif case.storage == "paged":
        pool, table = paged(given.key, stored)
        kernel, arrays = "paged", [query, pool, paged(given.value, stored)[0], table, lengths]
    elif case.storage == "lengths":
        kernel, arrays = "lengths", [query, key, value, lengths]
    elif case.mask == "documents":
        arrays.append(np.arange(case.keys, dtype=np.int32)[None, :] * DOCUMENTS // case.keys)
    elif case.score in ("alibi", "both"):
        arrays.append(np.array(slopes(case.heads), np.float32))
    result = np.zeros(query.shape, stored)
    fixed = ["-D", f"E={case.width}", "-D", f"R={case.group}", *os.environ.get("ATTNC_OPTIONS", "").split()]
    spec = spec.replace("t < 256", f"t < {case.window}")
    # As allocators of tensors place them: a row that begins within a cache line takes part of one more.
    arrays = [aligned(array) for array in arrays]
    called = caller(*compile(spec, kernel, fixed), threads, [*arrays, result])
    return called, lambda: result.astype(np.float32), {}
