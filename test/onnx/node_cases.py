# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's node cases of Attention and RotaryEmbedding, each as a spec: generated code and the interpreter must give the
outputs that ONNX expects.

    python node_cases.py FOLDER

A spec follows from a node's attributes and from which inputs it has; cases with one spec share one kernel. The case's
arrays are passed as they are."""
import importlib
import os
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from kernels import load

CASES = {"Attention": 93, "RotaryEmbedding": 8}
DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "bool", "int64": "i64"}
TOLERANCE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
GROUP = 6  # specs in one file


class Case:
    """A node's name, its attributes, and its inputs and outputs by the operator's own names for them."""
    def __init__(self, case):
        from onnx import helper
        node = case.model.graph.node[0]
        self.name = case.name
        self.op = node.op_type
        self.attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        inputs, outputs = case.data_sets[0]
        self.inputs = dict(zip([name for name in node.input if name], inputs))
        self.outputs = dict(zip([name for name in node.output if name], outputs))


def collect():
    """The cases of both operators. Each operator's module adds its cases to a list as it is imported; ONNX's own function
    for them would import the modules of all operators."""
    from onnx.backend.test.case import node
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in CASES:
            importlib.import_module(f"{node.__name__}.{op.lower()}")
    found = {}
    for case in node._NodeTestCases:
        if len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in CASES:
            found[case.name] = Case(case)
    for op, count in CASES.items():
        assert sum(case.op == op for case in found.values()) == count, f"not {count} cases of {op}"
    return list(found.values())


def dtype(array):
    return DTYPES[array.dtype.name]


class Spec:
    """The parts of an attention, and which arrays of the case its arguments and results are."""
    def __init__(self):
        self.params, self.results, self.facts, self.body = [], [], [], []
        self.given, self.expected = {}, {}

    def argument(self, name, dims, array):
        self.params.append(f"{name} : {dtype(array)}[{dims}]")
        self.given[name] = array

    def result(self, name, dims, array):
        self.results.append(f"{name} : {dtype(array)}[{dims}]")
        self.expected[name] = array

    def text(self):
        return "({}) -> ({})\nwhere {}\n{{\n    {}\n}}\n".format(
            ", ".join(self.params), ", ".join(self.results), ", ".join(self.facts), "\n    ".join(self.body))


def attention(case):
    spec, attributes, inputs, outputs = Spec(), case.attributes, case.inputs, case.outputs
    q, k, v = inputs["Q"], inputs["K"], inputs["V"]
    flat = q.ndim == 3
    heads, groups = (attributes["q_num_heads"], attributes["kv_num_heads"]) if flat else (q.shape[1], k.shape[1])
    shared = heads != groups
    query_heads = "G R" if shared else "G"
    spec.facts += [f"G = {groups}"] + ([f"R = {heads // groups}"] if shared else [])

    def dims(heads, length, width):
        return f"B, {length}, ({heads} {width})" if flat else f"B, {'(G R)' if ' ' in heads else heads}, {length}, {width}"

    def place(length, width):
        return f"b, {length}, g, {width}" if flat else f"b, g, {length}, {width}"

    past = inputs.get("past_key")
    new = "T" if past is None else "A"
    spec.argument("q", dims(query_heads, "S", "E"), q)
    spec.argument("key", dims("G", new, "E"), k)
    spec.argument("value", dims("G", new, "F"), v)
    spec.result("y", dims(query_heads, "S", "F"), outputs["Y"])
    key, value, first = "key", "value", "s"
    if past is not None:
        spec.argument("past_key", "B, G, P, E", past)
        spec.argument("past_value", "B, G, P, F", inputs["past_value"])
        spec.facts.append("T = P + A")
        key, value, first = "present_key", "present_value", "s + P"
        for part, width in (("key", "e"), ("value", "f")):
            spec.result(f"present_{part}", f"B, G, T, {width.upper()}", outputs[f"present_{part}"])
            spec.body.append(f"present_{part} = select(t < P, past_{part}[b, g, t, {width}], {part}[{place('t - P', width)}])")
    seen = []
    if "nonpad_kv_seqlen" in inputs:
        spec.argument("len", "B", inputs["nonpad_kv_seqlen"])
        seen.append("t < len[b]")
        first = "s + len[b] - S"
    spec.body.append(f"raw = dot(q, {key}, over: E) * " + (repr(attributes["scale"]) if "scale" in attributes else "rsqrt(E)"))
    cap = attributes.get("softcap", 0)
    spec.body.append(f"capped = {cap} * tanh(raw / {cap})" if cap else "capped = raw")
    if attributes.get("is_causal"):
        seen.append(f"t <= {first}")
    if attributes.get("left_window_size", -1) >= 0:
        seen.append(f"{first} - t <= {attributes['left_window_size']}")
    if attributes.get("right_window_size", -1) >= 0:
        seen.append(f"t - ({first}) <= {attributes['right_window_size']}")
    spec.body.append("biased = capped" + mask(spec, inputs.get("attn_mask"), shared, seen))
    condition = " and ".join(seen)
    tap = ["raw", "capped", "masked", "weights"][attributes.get("qk_matmul_output_mode", 0)]
    if tap == "masked" and condition:
        # What is masked must stand in the result as -inf, and not as an absent element's 0.
        spec.body.append(f"masked = select({condition}, biased, -inf)")
    else:
        spec.body.append("masked = biased" + (f" where {condition}" if condition else ""))
    spec.body += ["weights = softmax(masked, over: T)", f"y = dot(weights, {value}, over: T)"]
    if "qk_matmul_output" in outputs:
        spec.result("tap", "B, (G R), S, T" if shared else "B, G, S, T", outputs["qk_matmul_output"])
        spec.body.append(f"tap = {tap}")
    return spec


def mask(spec, array, shared, seen):
    """Adds attn_mask as an argument: a condition of `seen` when it is bool, else a summand, which is returned."""
    if array is None:
        return ""
    axes = [("B", "b"), ("(G R)", "g, r") if shared else ("G", "g"), ("S", "s"), ("U", "t")][4 - array.ndim:]
    kept = [axis if axis[0] == "U" or extent != 1 else ("1", "0") for axis, extent in zip(axes, array.shape)]
    spec.argument("mask", ", ".join(dim for dim, _ in kept), array)
    element = f"mask[{', '.join(index for _, index in kept)}]"
    spec.facts.append("U <= T")
    seen.append("t < U")
    if array.dtype == bool:
        seen.append(element)
        return ""
    return " + " + element


def rotary(case):
    spec, attributes, inputs = Spec(), case.attributes, case.inputs
    x = inputs["input"]
    dims = f"B, S, (H E)" if x.ndim == 3 else "B, H, S, E"
    spec.facts.append(f"H = {attributes['num_heads'] if x.ndim == 3 else x.shape[1]}")
    spec.argument("x", dims, x)
    by_position = "position_ids" in inputs
    for name, cache in (("cosine", "cos_cache"), ("sine", "sin_cache")):
        spec.argument(name, "N, P" if by_position else "B, S, P", inputs[cache])
    if by_position:
        spec.argument("position", "B, S", inputs["position_ids"])
    place = "position[b, s], p" if by_position else "b, s, p"
    pairs = ", pairs: interleaved" if attributes.get("interleaved") else ""
    spec.result("y", dims, case.outputs["output"])
    spec.body.append(f"y = rope(x, over: E, cos: cosine[{place}], sin: sine[{place}]{pairs})")
    return spec


def as_stored(array):
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def as_numbers(array, like):
    if like.dtype.name != "bfloat16":
        return array.astype(np.float64)
    bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32).astype(np.float64)


def faults(who, case, spec, got):
    for name, expected in spec.expected.items():
        have, want = as_numbers(got[name], expected), expected.astype(np.float64)
        if have.shape != want.shape:
            yield f"{case.name}: {who}: {name} has shape {have.shape}, and not {want.shape}"
            continue
        close = np.isclose(have, want, rtol=TOLERANCE[expected.dtype.name], atol=TOLERANCE[expected.dtype.name])
        if not close.all():
            yield f"{case.name}: {who}: {(~close).sum()} of {close.size} of {name} differ, by up to " \
                  f"{np.abs(have - want)[~close].max():.3g}"


def compile_group(folder, number, group):
    """One library for some specs: their kernels by name."""
    path = f"{folder}/group{number}"
    with open(path + ".attn", "w") as stream:
        stream.write("\n".join(f"attention {name}{text}" for name, text in group))
    subprocess.run(["attnc", "compile", path + ".attn", "-o", folder, "--emit=shared,json"], check=True)
    kernels = load(path)
    return {name: (path, getattr(kernels, name)) for name, _ in group}


def interpret(folder, case, path, kernel, spec):
    out = f"{folder}/{case.name}"
    os.makedirs(out)
    np.savez(out + ".npz", **{name: as_stored(array) for name, array in spec.given.items()})
    subprocess.run(["attnc", "interpret", path + ".attn", f"--kernel={kernel}", "--in", out + ".npz", "--out", out],
                   check=True, stdout=subprocess.DEVNULL)
    return {name: np.load(f"{out}/{name}.npy") for name in spec.expected}


def main(folder):
    cases = [(case, attention(case) if case.op == "Attention" else rotary(case)) for case in collect()]
    names = {}
    for case, spec in cases:
        names.setdefault(spec.text(), re.sub(r"^test_", "", case.name))
    items = [(name, text) for text, name in names.items()]
    found = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        groups = [items[first:first + GROUP] for first in range(0, len(items), GROUP)]
        kernels = {}
        for compiled in pool.map(lambda numbered: compile_group(folder, *numbered), enumerate(groups)):
            kernels.update(compiled)

        def interpreted(pair):
            case, spec = pair
            name = names[spec.text()]
            return interpret(folder, case, kernels[name][0], name, spec)
        for (case, spec), reference in zip(cases, pool.map(interpreted, cases)):
            kernel = kernels[names[spec.text()]][1]
            given = {name: as_stored(array) for name, array in spec.given.items()}
            found += faults("generated code", case, spec, kernel(**given))
            found += faults("the interpreter", case, spec, reference)
    print("\n".join(found + [f"{len(cases)} cases by {len(items)} kernels, {len(found)} differ"]))
    return 1 if found else 0


sys.exit(main(sys.argv[1]))
