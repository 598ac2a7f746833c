# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ggml, what llama.cpp computes with: its flash attention on the CPU."""
import ctypes
import pathlib
import sys

import numpy as np

from cases import CAP, scale
from torch_peers import refuse


class Problem(ctypes.Structure):
    """`struct problem` of ggml/attention.c."""
    _fields_ = [(name, ctypes.c_int64) for name in ("batch", "heads", "kv_heads", "queries", "keys", "width", "window")] + [
        ("dtype", ctypes.c_char_p), ("scale", ctypes.c_float), ("cap", ctypes.c_float), ("bias", ctypes.c_float),
        ("threads", ctypes.c_int), ("query", ctypes.c_void_p), ("key", ctypes.c_void_p), ("value", ctypes.c_void_p)]


def attention(case, given, threads):
    refuse(case, dtype=("f32", "bf16", "f16"), storage=("contiguous",), mask=("full", "causal", "window"),
           score=("plain", "alibi", "softcap"), kind=("attention",))
    arrays = [np.ascontiguousarray(x, np.float32) for x in (given.query, given.key, given.value)]
    window = {"full": 0, "causal": case.keys, "window": case.window}[case.mask]
    problem = Problem(case.batch, case.heads, case.kv_heads, case.queries, case.keys, case.width, window, case.dtype.encode(),
                      scale(case), CAP if case.score == "softcap" else 0, 8 if case.score == "alibi" else 0, threads,
                      *(x.ctypes.data for x in arrays))
    ggml = ctypes.CDLL(str(pathlib.Path(sys.prefix) / "ggml/libattention.so"))
    ggml.ggml_attention_new.restype = ggml.ggml_attention_result.restype = ctypes.c_void_p
    made = ctypes.c_void_p(ggml.ggml_attention_new(ctypes.byref(problem)))

    def call():
        if ggml.ggml_attention_run(made):
            raise RuntimeError("ggml_graph_compute failed")

    def result():
        shape = (case.batch, case.queries, case.heads, case.width)
        numbers = (ctypes.c_float * int(np.prod(shape))).from_address(ggml.ggml_attention_result(made))
        return np.frombuffer(numbers, np.float32).reshape(shape).transpose(0, 2, 1, 3)

    return call, result, {}
