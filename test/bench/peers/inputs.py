# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of a case, the same in each process, and its result in f64 at some places."""
import math

import numpy as np

from cases import CAP, DOCUMENTS, slopes


class Inputs:
    """Queries [B, H, S, D], keys and values [B, G, T, D] as f32 that the case's dtype holds exactly; for a layer
    also `x` [B, S, H D] and four weights [H D, H D]."""

    def __init__(self, case):
        generator = np.random.default_rng(0)
        self.case = case
        self.query = self.draw(generator, case.heads, case.queries)
        if case.kind == "layer":
            model = case.heads * case.width
            self.x = generator.standard_normal((case.batch, case.queries, model), dtype=np.float32)
            self.weights = [generator.standard_normal((model, model), dtype=np.float32) / math.sqrt(model) for _ in range(4)]
            return
        self.key = self.draw(generator, case.kv_heads, case.keys)
        self.value = self.draw(generator, case.kv_heads, case.keys)

    def draw(self, generator, heads, length):
        numbers = generator.standard_normal((self.case.batch, heads, length, self.case.width), dtype=np.float32)
        # Eight bits of a significand fit every dtype here.
        return np.round(numbers * 32) / np.float32(32)

    def worst_error(self, result):
        """Of `result` [B, H, S, D] at some rows of each sequence's first and last head, against f64."""
        case, worst = self.case, 0.0
        rows = sorted({0, case.queries // 3, case.queries - 1})
        for batch, length in enumerate(case.lengths()):
            for head in {0, case.heads - 1}:
                expected = self.attend(batch, head, np.array(rows), length)
                worst = max(worst, float(np.abs(result[batch, head, rows].astype(np.float64) - expected).max()))
        return worst

    def attend(self, batch, head, rows, length):
        case = self.case
        key = self.key[batch, head // case.group, :length].astype(np.float64)
        value = self.value[batch, head // case.group, :length].astype(np.float64)
        score = self.query[batch, head, rows].astype(np.float64) @ key.T / math.sqrt(case.width)
        position = rows[:, None] + length - case.queries
        distance = position - np.arange(length)[None, :]
        if case.score in ("softcap", "both", "sinks"):
            score = CAP * np.tanh(score / CAP)
        if case.score in ("alibi", "both"):
            score = score - slopes(case.heads)[head] * distance
        if case.mask != "full":
            score = np.where(distance >= 0, score, -np.inf)
        if case.mask == "window":
            score = np.where(distance < case.window, score, -np.inf)
        if case.mask == "documents":
            own = rows[:, None] * DOCUMENTS // length == np.arange(length) * DOCUMENTS // length
            score = np.where(own, score, -np.inf)
        largest = score.max(-1, keepdims=True)
        weight = np.exp(score - largest)
        sink = np.exp(slopes(case.heads)[head] - largest) if case.score == "sinks" else 0
        return weight / (weight.sum(-1, keepdims=True) + sink) @ value
