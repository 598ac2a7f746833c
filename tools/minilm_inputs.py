# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real input for examples/bert_layer.attn: attention layer 0 of MiniLM and the embedded tokens of a few sentences.

  minilm_inputs.py MODEL_FOLDER OUT.npz

MODEL_FOLDER holds model.safetensors and vocab.txt of all-MiniLM-L6-v2. Needs NumPy only."""

import json
import os
import sys
import unicodedata

import numpy as np

SENTENCES = [
    "A causal mask hides the future.",
    "Keys and values are shared by the query heads of a group, so a cache holds fewer of them.",
    "Short.",
    "The river that rises behind the village is cold even in August, yet the children swim in it until the "
    "light goes and somebody calls them home.",
    "Padding must not change what a sentence means: every position past its end is absent, and whatever is "
    "stored there has no effect on any other.",
    "Which of these tokens does the first head attend to?",
]


def read_safetensors(path):
    """Name -> array, mapped from the file: a length, a header in JSON, then the bytes."""
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = data[begin:end].view("<f4").reshape(entry["shape"])
    return tensors


def words(text):
    """Lower case without accents; punctuation stands alone."""
    text = unicodedata.normalize("NFD", text.lower())
    spaced = "".join(f" {c} " if unicodedata.category(c).startswith("P") else c
                     for c in text if unicodedata.category(c) != "Mn")
    return spaced.split()


def tokens(text, vocabulary):
    """WordPiece: of each word the longest known head, then the longest known continuations."""
    found = [vocabulary["[CLS]"]]
    for word in words(text):
        pieces, begin = [], 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = ("##" if begin else "") + word[begin:end]
                if piece in vocabulary:
                    pieces.append(vocabulary[piece])
                    begin = end
                    break
            else:
                pieces = [vocabulary["[UNK]"]]
                break
        found += pieces
    return found + [vocabulary["[SEP]"]]


def embed(ids, tensors):
    """What layer 0 gets: the sum of the three embeddings, normalised."""
    prefix = "embeddings."
    x = (tensors[prefix + "word_embeddings.weight"][ids].astype(np.float64)
         + tensors[prefix + "position_embeddings.weight"][: ids.shape[1]]
         + tensors[prefix + "token_type_embeddings.weight"][0])
    x -= x.mean(-1, keepdims=True)
    x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
    return (x * tensors[prefix + "LayerNorm.weight"] + tensors[prefix + "LayerNorm.bias"]).astype(np.float32)


def main(model, out):
    tensors = read_safetensors(os.path.join(model, "model.safetensors"))
    with open(os.path.join(model, "vocab.txt"), encoding="utf-8") as stream:
        vocabulary = {line.rstrip("\n"): number for number, line in enumerate(stream)}
    sequences = [tokens(sentence, vocabulary) for sentence in SENTENCES]
    longest = max(map(len, sequences))
    ids = np.array([s + [vocabulary["[PAD]"]] * (longest - len(s)) for s in sequences])
    keep = np.array([[position < len(s) for position in range(longest)] for s in sequences])

    arrays = {"x": embed(ids, tensors), "keep": keep}
    layer = "encoder.layer.0.attention."
    for short, name in (("q", "self.query"), ("k", "self.key"), ("v", "self.value"), ("o", "output.dense")):
        arrays["w" + short] = np.array(tensors[f"{layer}{name}.weight"])
        arrays["b" + short] = np.array(tensors[f"{layer}{name}.bias"])
    np.savez(out, **arrays)
    print(f"{len(sequences)} sentences of {min(map(len, sequences))} to {longest} tokens -> {out}")


main(*sys.argv[1:])
