# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is compared: shapes, storage and modifiers, and the work that each asks for."""
import dataclasses
import math

WINDOW, CAP, DOCUMENTS = 256, 20.0, 8
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i8": 1}


@dataclasses.dataclass(frozen=True)
class Case:
    """One attention, or a whole layer. Extents: batch, query heads, key heads, queries, keys, width."""
    name: str
    batch: int = 1
    heads: int = 8
    kv_heads: int = 8
    queries: int = 0
    keys: int = 0
    width: int = 64
    dtype: str = "f32"
    mask: str = "full"          # full, causal (the last query sees the last key), window (causal and at most `window` keys),
                                # documents (DOCUMENTS of them packed one after the other, causal)
    score: str = "plain"        # plain, alibi, softcap, both, sinks (softcap, and one more logit for each head)
    window: int = WINDOW
    storage: str = "contiguous"  # contiguous, paged (16 tokens), lengths (each sequence its own length), packed (a layer's weights,
                                 # for attnc; others have their own ways)
    kind: str = "attention"     # attention, layer

    @property
    def group(self):
        return self.heads // self.kv_heads

    @property
    def is_decode(self):
        return self.queries < self.keys

    def lengths(self):
        """Keys of each sequence."""
        if self.storage != "lengths":
            return [self.keys] * self.batch
        return [max(1, self.keys * (i + 1) // self.batch) for i in range(self.batch)]

    def visible(self):
        """Pairs of a query and a key that it sees, of one head, in all sequences."""
        if self.mask == "documents":
            length = self.keys // DOCUMENTS
            return DOCUMENTS * length * (length + 1) // 2
        pairs = 0
        for keys in self.lengths():
            for s in range(self.queries):
                seen = keys if self.mask == "full" else s + keys - self.queries + 1
                pairs += min(seen, self.window) if self.mask == "window" else seen
        return pairs

    def operations(self):
        """Floating point operations of the products of visible pairs, and of a layer's four projections."""
        attention = 4.0 * self.heads * self.width * self.visible()
        model = self.heads * self.width
        return attention + (8.0 * self.batch * self.queries * model * model if self.kind == "layer" else 0)

    def bytes(self):
        """Stored keys and values that have to be read once."""
        number = BYTES[self.dtype] + (4.0 / self.width if self.dtype == "i8" else 0)
        return 2.0 * self.kv_heads * self.width * number * sum(self.lengths())


def prefill(queries, width, **more):
    mask = more.get("mask", "full")
    words = [f"prefill D={width} S={queries}", mask if mask != "full" else "", more.get("score", ""), more.get("dtype", "")]
    return Case(" ".join(w for w in words if w), queries=queries, keys=queries, width=width, **more)


def decode(keys, kv_heads, queries=1, **more):
    words = [f"decode 32 on {kv_heads} T={keys}", f"S={queries}" if queries > 1 else "", more.get("dtype", ""),
             more.get("storage", "")]
    return Case(" ".join(w for w in words if w), heads=32, kv_heads=kv_heads, queries=queries, keys=keys, width=128,
                mask="causal" if queries > 1 else "full", **more)


def all_cases():
    cases = [prefill(s, d, mask=m) for d in (64, 128) for s in (128, 512, 2048, 8192) for m in ("full", "causal")]
    cases += [Case("prefill 32 on 8 D=128 S=1024 causal", heads=32, kv_heads=8, queries=1024, keys=1024, width=128,
                   mask="causal")]
    cases += [prefill(s, d, mask=m, dtype=t) for t in ("bf16", "f16") for d, s in ((64, 2048), (128, 2048))
              for m in ("full", "causal")]
    cases += [prefill(s, d, mask=m) for s, d in ((1000, 64), (1000, 80), (1024, 96), (1024, 72)) for m in ("full", "causal")]
    cases += [prefill(2048, d, mask="causal", score=x) for d in (64, 128) for x in ("alibi", "softcap")]
    cases += [prefill(s, 64, mask="window") for s in (2048, 8192)]
    cases += [decode(t, h) for h in (8, 32) for t in (128, 1024, 4096, 16384, 65536) if h * t <= 8 * 65536]
    cases += [decode(16384, 8, dtype=t) for t in ("bf16", "i8")]
    cases += [decode(t, 8, storage="paged") for t in (1024, 16384)]
    cases += [decode(16384, 8, dtype="bf16", storage="paged")]
    cases += [decode(16384, 8, queries=s) for s in (4, 8)]
    cases += [dataclasses.replace(decode(2048, 8, storage="lengths"), batch=16, name="decode 32 on 8, 16 sequences to T=2048")]
    cases += [Case(name, heads=16, kv_heads=16, queries=1024, keys=1024, width=64, mask="causal", kind="layer", storage=storage)
              for name, storage in (("layer [1,1024,1024] 16 heads", "contiguous"), ("layer, packed weights", "packed"))]
    return cases


def slopes(heads):
    """ALiBi's slopes for a power of two of heads."""
    return [2.0 ** (-8.0 * (h + 1) / heads) for h in range(heads)]


def scale(case):
    return 1.0 / math.sqrt(case.width)
