# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenVINO, JAX and IREE."""
import os

import numpy as np

from cases import scale
from torch_peers import refuse


def openvino(case, given, threads):
    refuse(case, dtype=("f32", "bf16", "f16"), storage=("contiguous",), mask=("full", "causal"), score=("plain",),
           kind=("attention",))
    if case.mask == "causal" and case.queries != case.keys:
        raise ValueError("no causal mask from the last key")
    import openvino as ov
    from openvino import opset13 as op
    numbers = (given.query, given.key, given.value)
    parameters = [op.parameter(x.shape, ov.Type.f32) for x in numbers]
    query, key, value = parameters
    if case.group > 1:
        shape = (case.batch, case.kv_heads, case.group, case.keys, case.width)

        def repeat(x):
            wide = op.broadcast(op.unsqueeze(x, op.constant(np.array([2]))), op.constant(np.array(shape)))
            return op.reshape(wide, op.constant(np.array((case.batch, case.heads, case.keys, case.width))), False)

        key, value = repeat(key), repeat(value)
    result = op.scaled_dot_product_attention(query, key, value, causal=case.mask == "causal")
    compiled = ov.Core().compile_model(ov.Model([result], parameters, "attention"), "CPU", {
        "INFERENCE_PRECISION_HINT": case.dtype, "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    for i, x in enumerate(numbers):
        request.set_input_tensor(i, ov.Tensor(x))
    return request.infer, lambda: request.get_output_tensor(0).data.copy(), {"version": ov.__version__.split("-")[0]}


def jax(case, given, threads):
    refuse(case, dtype=("f32", "bf16", "f16"), storage=("contiguous",), mask=("full", "causal"), score=("plain",),
           kind=("attention",))
    if case.mask == "causal" and case.queries != case.keys:
        raise ValueError("no causal mask from the last key")
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    dtype = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16}[case.dtype]
    arguments = [jnp.asarray(np.ascontiguousarray(x.transpose(0, 2, 1, 3)), dtype) for x in
                 (given.query, given.key, given.value)]
    attend = jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, scale=scale(case),
                                                                  is_causal=case.mask == "causal"))
    kept = []

    def call():
        kept[:] = [attend(*arguments).block_until_ready()]

    return call, lambda: np.asarray(kept[0].astype(jnp.float32)).transpose(0, 2, 1, 3), {"version": jax.__version__}


def iree(case, given, threads):
    """Two batched products and a softmax in linalg: its fastest form on a CPU; heads of a group are rows."""
    refuse(case, dtype=("f32",), storage=("contiguous",), mask=("full",), score=("plain",), kind=("attention",))
    import iree.compiler
    import iree.runtime
    batch, rows = case.batch * case.kv_heads, case.group * case.queries
    query, key = f"tensor<{batch}x{rows}x{case.width}xf32>", f"tensor<{batch}x{case.keys}x{case.width}xf32>"
    scores = f"tensor<{batch}x{rows}x{case.keys}xf32>"
    text = f"""
func.func @attend(%q: {query}, %k: {key}, %v: {key}) -> {query} {{
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant {scale(case):.9e} : f32
  %room = tensor.empty() : {scores}
  %clear = linalg.fill ins(%zero : f32) outs(%room : {scores}) -> {scores}
  %raw = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>,
                       affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%q, %k : {query}, {key}) outs(%clear : {scores}) -> {scores}
  %score = linalg.generic
      {{indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (b, m, n)>],
        iterator_types = ["parallel", "parallel", "parallel"]}} ins(%raw : {scores}) outs(%room : {scores}) {{
  ^bb0(%x: f32, %unused: f32):
    %y = arith.mulf %x, %scale : f32
    linalg.yield %y : f32
  }} -> {scores}
  %weight = linalg.softmax dimension(2) ins(%score : {scores}) outs(%room : {scores}) -> {scores}
  %place = tensor.empty() : {query}
  %empty = linalg.fill ins(%zero : f32) outs(%place : {query}) -> {query}
  %mix = linalg.batch_matmul ins(%weight, %v : {scores}, {key}) outs(%empty : {query}) -> {query}
  return %mix : {query}
}}
"""
    module = iree.compiler.compile_str(text, target_backends=["llvm-cpu"],
                                       extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"])
    if threads > 1:
        iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    config = iree.runtime.Config("local-sync" if threads == 1 else "local-task")
    context = iree.runtime.SystemContext(config=config)
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, module))
    function = context.modules.module.attend
    shapes = ((batch, rows, case.width), (batch, case.keys, case.width), (batch, case.keys, case.width))
    arguments = [iree.runtime.asdevicearray(config.device, x.reshape(shape)) for x, shape in
                 zip((given.query, given.key, given.value), shapes)]
    kept = []

    def call():
        kept[:] = [function(*arguments)]

    return call, lambda: kept[0].to_host().reshape(given.query.shape), {}
