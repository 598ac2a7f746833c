# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch: scaled_dot_product_attention, FlexAttention compiled, and a layer, eager and compiled."""
import tempfile
import os

import numpy as np

from cases import CAP, DOCUMENTS, scale, slopes


def refuse(case, **allowed):
    for field, values in allowed.items():
        if getattr(case, field) not in values:
            raise ValueError(f"no {field} {getattr(case, field)}")


def setup(threads):
    import torch
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return torch


def tensors(torch, case, given):
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[case.dtype]
    return [torch.from_numpy(x).to(dtype) for x in (given.query, given.key, given.value)]


def distances(torch, case):
    return (torch.arange(case.queries)[:, None] + case.keys - case.queries) - torch.arange(case.keys)[None, :]


def sdpa(case, given, threads):
    refuse(case, dtype=("f32", "bf16", "f16"), storage=("contiguous",), score=("plain", "alibi"), kind=("attention",),
           mask=("full", "causal", "window"))
    torch = setup(threads)
    query, key, value = tensors(torch, case, given)
    options = {"enable_gqa": case.group > 1, "scale": scale(case)}
    if case.mask == "causal" and case.score == "plain" and case.queries == case.keys:
        options["is_causal"] = True
    elif case.mask != "full" or case.score != "plain":
        distance = distances(torch, case)
        seen = (distance >= 0) & ((distance < case.window) if case.mask == "window" else True)
        bias = torch.zeros(distance.shape)
        if case.score == "alibi":
            bias = -torch.tensor(slopes(case.heads))[None, :, None, None] * distance
        options["attn_mask"] = bias.masked_fill(~seen, float("-inf")).to(query.dtype)
    kept = []

    def call():
        kept[:] = [torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)]

    return call, lambda: kept[0].float().numpy(), {"version": torch.__version__}


def flex(case, given, threads):
    refuse(case, dtype=("f32", "bf16", "f16"), kind=("attention",),
           storage=("contiguous", "paged") if case.score == "sinks" else ("contiguous",))  # It has no pages, and no log-sum-exp on CPU to add sinks by.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
    torch = setup(threads)
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    query, key, value = tensors(torch, case, given)
    offset = case.keys - case.queries
    table = torch.tensor(slopes(case.heads))

    def cap(score, b, h, s, t):
        return CAP * torch.tanh(score / CAP)

    def alibi(score, b, h, s, t):
        return score - table[h] * (s + offset - t)

    def both(score, b, h, s, t):
        return alibi(cap(score, b, h, s, t), b, h, s, t)

    def causal(b, h, s, t):
        return s + offset >= t

    length = case.keys // DOCUMENTS

    def documents(b, h, s, t):
        return (s >= t) & (s // length == t // length)

    def window(b, h, s, t):
        return (s + offset >= t) & (s + offset - t < case.window)

    mask = {"full": None, "causal": causal, "window": window, "documents": documents}[case.mask]
    blocks = create_block_mask(mask, None, None, case.queries, case.keys, device="cpu") if mask else None
    change = {"plain": None, "softcap": cap, "alibi": alibi, "both": both, "sinks": cap}[case.score]
    options = {"score_mod": change, "block_mask": blocks, "enable_gqa": case.group > 1, "scale": scale(case)}
    kept = []

    compiled = torch.compile(flex_attention, dynamic=False)

    def call():
        kept[:] = [compiled(query, key, value, **options)]

    return call, lambda: kept[0].float().numpy(), {"version": torch.__version__}


def layer_with(case, given, threads, compile):
    refuse(case, kind=("layer",))
    torch = setup(threads)
    from torch.nn.functional import linear, scaled_dot_product_attention
    x = torch.from_numpy(given.x)
    wq, wk, wv, wo = (torch.from_numpy(w) for w in given.weights)
    shape = (case.batch, case.queries, case.heads, case.width)

    def layer(x):
        query, key, value = (linear(x, w).view(shape).transpose(1, 2) for w in (wq, wk, wv))
        mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        return linear(mixed.transpose(1, 2).reshape(x.shape), wo)

    if compile:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
        layer = torch.compile(layer, dynamic=False)
    return lambda: layer(x), None, {"version": torch.__version__}


def layer(case, given, threads):
    return layer_with(case, given, threads, compile=False)


def layer_compiled(case, given, threads):
    return layer_with(case, given, threads, compile=True)
