# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX Runtime: Attention of the standard, MultiHeadAttention and GroupQueryAttention of its own operators."""
import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from cases import CAP, WINDOW, scale
from torch_peers import refuse

TYPES = {"f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16),
         "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}


def session(node, inputs, outputs, threads, opsets):
    graph = helper.make_graph([node], "attention", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in opsets], ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def bind(running, feeds, results):
    """Inputs and outputs stay where they are, so that a call copies nothing."""
    binding = running.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x) for name, x in {**feeds, **results}.items()}
    values.update({"nk": values["pk"], "nv": values["pv"]} if "pk" in feeds else {})
    for name in feeds:
        binding.bind_ortvalue_input(name, values[name])
    for name in [*results, *(["nk", "nv"] if "pk" in feeds else [])]:
        binding.bind_ortvalue_output(name, values[name])
    return (lambda: running.run_with_iobinding(binding)), values


def side_by_side(x):
    """[B, H, S, D] as [B, S, H D]."""
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1))


def heads_of(case, x):
    return x.astype(np.float32).reshape(case.batch, case.queries, case.heads, case.width).transpose(0, 2, 1, 3)


def tensor(name, element, *shape):
    return helper.make_tensor_value_info(name, element, shape)


def attention(case, given, threads):
    refuse(case, dtype=TYPES, storage=("contiguous",), mask=("full", "causal"), score=("plain", "softcap"),
           kind=("attention",))
    element, stored = TYPES[case.dtype]
    # is_causal aligns at the first key: with more keys than queries it means something else.
    if case.mask == "causal" and case.queries != case.keys:
        raise ValueError("no causal mask from the last key")
    options = {"scale": scale(case), "is_causal": int(case.mask == "causal")}
    if case.score == "softcap":
        options["softcap"] = CAP
    queries = (case.batch, case.heads, case.queries, case.width)
    keys = (case.batch, case.kv_heads, case.keys, case.width)
    running = session(helper.make_node("Attention", ["q", "k", "v"], ["o"], **options),
                      [tensor("q", element, *queries), tensor("k", element, *keys), tensor("v", element, *keys)],
                      [tensor("o", element, *queries)], threads, [("", 23)])
    call, values = bind(running, {"q": given.query.astype(stored), "k": given.key.astype(stored),
                                  "v": given.value.astype(stored)}, {"o": np.zeros(queries, stored)})
    return call, lambda: values["o"].numpy().astype(np.float32), {"version": onnxruntime.__version__}


def multi_head(case, given, threads):
    refuse(case, dtype=TYPES, storage=("contiguous",), mask=("full", "causal"), score=("plain",), kind=("attention",),
           group=(1,))
    if case.mask == "causal" and case.queries != case.keys:
        raise ValueError("no causal mask from the last key")
    element, stored = TYPES[case.dtype]
    model = case.heads * case.width
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft", num_heads=case.heads,
                            scale=scale(case), unidirectional=int(case.mask == "causal"))
    running = session(node, [tensor("q", element, case.batch, case.queries, model),
                             tensor("k", element, case.batch, case.keys, model),
                             tensor("v", element, case.batch, case.keys, model)],
                      [tensor("o", element, case.batch, case.queries, model)], threads, [("", 17), ("com.microsoft", 1)])
    call, values = bind(running, {n: side_by_side(x).astype(stored) for n, x in
                                  zip("qkv", (given.query, given.key, given.value))},
                        {"o": np.zeros((case.batch, case.queries, model), stored)})
    return call, lambda: heads_of(case, values["o"].numpy()), {"version": onnxruntime.__version__}


def group_query(case, given, threads):
    """Past and present share one buffer; the last queries are the new tokens."""
    refuse(case, dtype=TYPES, storage=("contiguous", "lengths"), mask=("full", "causal", "window") if case.queries == 1 else
           ("causal", "window"), score=("plain", "softcap"), kind=("attention",))
    element, stored = TYPES[case.dtype]
    options = {"num_heads": case.heads, "kv_num_heads": case.kv_heads, "scale": scale(case)}
    if case.mask == "window":
        options["local_window_size"] = WINDOW
    if case.score == "softcap":
        options["softcap"] = CAP
    node = helper.make_node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "last", "total"], ["o", "nk", "nv"],
                            domain="com.microsoft", **options)
    model, narrow = case.heads * case.width, case.kv_heads * case.width
    cache = (case.batch, case.kv_heads, case.keys, case.width)
    running = session(node, [tensor("q", element, case.batch, case.queries, model),
                             tensor("k", element, case.batch, case.queries, narrow),
                             tensor("v", element, case.batch, case.queries, narrow), tensor("pk", element, *cache),
                             tensor("pv", element, *cache), tensor("last", TensorProto.INT32, case.batch),
                             tensor("total", TensorProto.INT32, 1)],
                      [tensor("o", element, case.batch, case.queries, model), tensor("nk", element, *cache),
                       tensor("nv", element, *cache)], threads, [("", 17), ("com.microsoft", 1)])
    lengths = np.array(case.lengths(), np.int32)

    def new(x):
        return side_by_side(np.stack([x[b, :, n - case.queries:n] for b, n in enumerate(lengths)])).astype(stored)

    feeds = {"q": side_by_side(given.query).astype(stored), "k": new(given.key), "v": new(given.value),
             "pk": given.key.astype(stored), "pv": given.value.astype(stored), "last": lengths - 1,
             "total": np.array([case.keys], np.int32)}
    call, values = bind(running, feeds, {"o": np.zeros((case.batch, case.queries, model), stored)})
    return call, lambda: heads_of(case, values["o"].numpy()), {"version": onnxruntime.__version__}
