# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of the language. A program is a dict of independent choices: what each stands for is in `CHOICES`,
the plainest first, so that a failing program shrinks by making one choice after the other plainer. Choices that do not
fit together are made to fit by `settle`, so every dict is a legal program."""
import random

CHOICES = {
    "storage": ["contiguous", "padded", "packed", "paged", "cache", "append", "ring", "paged_write", "image"],
    "heads": ["none", "mha", "mqa", "gqa", "alternating"],
    "single": [False, True],                      # one query for each sequence: no axis S
    "source": ["given", "projected"],
    "order": [0, 1, 2, 3],                        # of the dimensions of contiguous tensors
    "own_width": [False, True],                   # of the values
    "query_type": ["f32", "f16", "bf16", "f8e4m3"],
    "key_type": ["f32", "f16", "bf16", "i8", "f8e4m3", "f8e5m2"],
    "out_type": ["f32", "f16", "bf16", "f8e4m3"],
    "joiner": ["and", "or"],
    "place": ["where", "statement", "select"],
    "normaliser": ["softmax", "sigmoid", "relu", "none"],
    "sink": ["none", "zero", "heads"],
    "after": ["none", "scaled", "squared", "dropped", "gated", "limited", "difference", "talking"],
    "lse": [False, True],
    "weights": [False, True],
    "rope": ["none", "half", "interleaved", "partial"],
    "normed": [False, True],                      # queries and keys of length sqrt(E)
    "output_projection": [False, True],
    "precise": [False, True],
    "width": [0, 8, 20, 33],                      # of keys; 0: any
    "few_heads": [False, True],                   # a fixed number of them
}
MASKS = ["causal", "window", "around", "end", "prefix", "length", "front", "keep", "table", "documents", "dilated",
         "blocks", "neighbours", "reach", "not_self", "sink_window", "offsets", "global", "block_table", "near_pixels",
         "pixel_neighbours"]
SCORES = ["scaled", "constant", "argument", "cap", "alibi", "bias", "head_bias", "clipped", "second", "table_row",
          "holes", "bucket", "by_length", "shifted", "pixel_bias"]
LISTS = {"masks": MASKS, "scores": SCORES}

RAGGED = ("padded", "packed", "paged", "paged_write")
WRITES = ("cache", "append", "ring", "paged_write")


def choose(seed):
    """The choices of a seed: plain ones are more likely, and a few of the masks and scores."""
    source = random.Random(seed)
    choices = {}
    for name, values in CHOICES.items():
        often = name in ("storage", "heads", "order")
        choices[name] = source.choice(values) if often or source.random() < 0.4 else values[0]
    for name, values in LISTS.items():
        choices[name] = source.sample(values, source.choice([0, 1, 1, 2, 2, 3]))
    return choices


def plainer(choices):
    """Each set of choices that is one step plainer."""
    for name, values in LISTS.items():
        for item in choices[name]:
            yield {**choices, name: [other for other in choices[name] if other != item]}
    for name, values in CHOICES.items():
        for value in values[:values.index(choices[name])]:
            yield {**choices, name: value}


def settle(choices):
    """The same with what does not fit together made plain."""
    c = dict(choices)
    ragged, writes = c["storage"] in RAGGED, c["storage"] in WRITES
    if c["storage"] in ("packed", "paged_write", "cache", "append", "ring", "image"):
        c["single"] = False
    if c["storage"] not in ("contiguous", "cache", "append") or c["single"]:
        c["source"] = "given"
    if c["source"] == "projected":
        c["key_type"] = c["query_type"]
        c["own_width"] = False
    if c["key_type"] == "i8" and (writes or c["storage"] not in ("contiguous", "padded", "image")):
        c["key_type"] = "f32"
    if c["normaliser"] != "softmax":
        c["sink"], c["lse"] = "none", False
    if c["after"] == "talking" and (c["heads"] != "mha" or c["storage"] != "contiguous" or c["source"] == "projected"):
        c["after"] = "none"
    if ragged:
        c["weights"] = False
    if c["rope"] == "partial" or (c["rope"] != "none" and c["width"] == 33):
        c["width"] = 20
    if c["rope"] != "none" and c["single"]:
        c["rope"] = "none"
    if c["order"] == 2 or c["source"] == "projected" or c["output_projection"]:
        c["few_heads"] = True  # else a product such as (H E) leaves both open
    if c["heads"] == "none" and c["sink"] == "heads":
        c["sink"] = "zero"
    unfit = {"near_pixels", "pixel_neighbours", "pixel_bias"}
    if c["storage"] == "image":
        unfit = {"keep", "documents", "offsets", "end", "neighbours"}
    if ragged:
        unfit |= {"table", "bias", "head_bias", "neighbours", "end", "holes"}
    if c["storage"] in ("packed", "paged", "paged_write", "ring", "cache", "append"):
        unfit |= {"keep", "documents", "offsets"}
    if c["storage"] == "ring":
        unfit |= {"table", "bias", "head_bias", "neighbours", "end", "causal", "holes"}
    if c["storage"] in ("cache", "append"):
        unfit |= {"neighbours", "end", "causal"}
    if c["single"]:
        unfit |= {"documents", "bias", "head_bias", "table", "neighbours", "offsets", "holes"}
    if c["heads"] == "none":
        unfit |= {"reach", "alibi", "clipped", "head_bias"}
    if c["storage"] != "contiguous" or c["source"] == "projected":
        unfit |= {"second", "shifted"}
    if c["single"]:
        unfit |= {"shifted"}
    if ragged or c["single"]:
        c["after"] = "none" if c["after"] == "gated" else c["after"]
    for name in LISTS:
        c[name] = [item for item in c[name] if item not in unfit]
    return c


class Writer:
    """Puts a program together from its settled choices."""

    def __init__(self, choices):
        self.c = settle(choices)
        self.params, self.inouts, self.results, self.facts, self.body = {}, {}, {}, [], []
        heads = self.c["heads"]
        self.query_heads = {"none": [], "mha": ["H"], "mqa": ["H"], "gqa": ["(G R)"], "alternating": ["(R G)"]}[heads]
        self.key_heads = {"none": [], "mha": ["H"], "mqa": [], "gqa": ["G"], "alternating": ["G"]}[heads]
        self.head_index = {"none": "", "mha": "h", "mqa": "h", "gqa": "g, r", "alternating": "r, g"}[heads]
        self.F = "F" if self.c["own_width"] else "E"
        self.ragged_queries = self.c["storage"] == "packed"
        image = self.c["storage"] == "image"  # rows and columns of pixels: two axes each
        self.S, self.T = ("(Y X)", "(I J)") if image else ("S", "T")
        self.query, self.key = ("(y * X + x)", "(i * J + j)") if image else ("s", "t")

    def declare(self, name, dtype, dims):
        self.params[name] = f"{name} : {dtype}[{', '.join(dims)}]" if dims else f"{name} : {dtype}"
        return name

    def ordered(self, heads, length, width):
        """Dimensions in one of several orders."""
        lead = ["B"] + heads
        flat = [f"({' '.join(h.strip('()') for h in heads)} {width})"] if heads else [width]
        orders = [lead + [length, width], ["B", length] + heads + [width], ["B", length] + flat,
                  [length] + lead + [width]]
        return [dim for dim in orders[self.c["order"]] if dim]

    def text(self, name):
        c = self.c
        if c["width"]:
            self.facts.append(f"E = {c['width']}")
        if c["few_heads"]:
            self.facts += {"none": [], "mha": ["H = 3"], "mqa": ["H = 5"], "gqa": ["G = 2", "R = 3"],
                           "alternating": ["G = 2", "R = 3"]}[c["heads"]]
        query = self.queries()
        keys, values = self.keys()
        score = self.scores(query, keys)
        condition = self.masks()
        output = self.attend(score, condition, values)
        self.finish(output)
        facts = "where " + ", ".join(self.facts) + "\n" if self.facts else ""
        params = ", ".join([*self.params.values(), *self.inouts.values()])
        return "{}attention {}({}) -> ({})\n{}{{\n    {}\n}}\n".format(
            "precise " if c["precise"] else "", name, params, ", ".join(self.results.values()), facts,
            "\n    ".join(self.body))

    # What attends, and to what.

    def queries(self):
        c, length = self.c, "" if self.c["single"] else self.S
        if c["source"] == "projected":
            width = f"({' '.join(h.strip('()') for h in self.query_heads)} E)" if self.query_heads else "E"
            self.declare("input", c["query_type"], ["B", "S", "D"])
            self.declare("wq", c["query_type"], [width, "D"])
            self.body.append("asked = project(input, wq)")
        elif self.ragged_queries:
            self.declare("query", c["query_type"], ["(B S)"] + self.query_heads + ["E"])
            self.declare("off", "i32", ["B + 1"])
            self.facts.append("S[b] = off[b + 1] - off[b]")
        else:
            self.declare("query", c["query_type"], self.ordered(self.query_heads, length, "E"))
        name = "asked" if c["source"] == "projected" else "query"
        if c["storage"] in WRITES:
            self.declare("past", "i32", ["B"])
            self.body.append("pos = past[b] + s")
        self.at = "pos" if c["storage"] in WRITES else self.query
        if c["single"]:
            self.at = "len[b] - 1" if c["storage"] in RAGGED else "T - 1"
        if c["rope"] != "none":
            self.body.append(f"turned = {self.turned(name, self.at)}")
            name = "turned"
        return self.normed(name, "askednorm")

    def normed(self, value, name):
        if not self.c["normed"]:
            return value
        self.body.append(f"{name} = {value} * rsqrt(mean({value} * {value}, over: E) + 0.01)")
        return name

    def turned(self, value, at):
        more = {"half": "", "interleaved": ", pairs: interleaved", "partial": ", dims: 8"}[self.c["rope"]]
        return f"rope({value}, over: E, at: {at}, base: 10000{more})"

    def keys(self):
        return getattr(self, "keys_" + self.c["storage"])()

    def pair(self, suffix, dtype, dims_of):
        """Keys and values with the same dimensions but for the width."""
        return [self.declare(name + suffix, dtype, dims_of(width)) for name, width in (("key", "E"), ("val", self.F))]

    def fresh(self):
        """Keys and values of the queries' own positions, to be written somewhere."""
        c = self.c
        if c["source"] == "projected":
            width = f"({' '.join(self.key_heads)} E)" if self.key_heads else "E"
            for name in ("wk", "wv"):
                self.declare(name, c["query_type"], [width, "D"])
            self.body += ["newkey = project(input, wk)", "newval = project(input, wv)"]
        else:
            self.pair("in", c["query_type"], lambda width: ["B"] + self.key_heads + ["S", width])
            self.body += ["newkey = keyin + 0", "newval = valin + 0"]
        if c["rope"] != "none":
            self.body.append(f"newkey = {self.turned('newkey', 'pos')}")

    def place(self, *indices):
        return ", ".join([*indices[:-1], *[h.lower() for h in self.key_heads], indices[-1]])

    def later(self, key):
        """Keys that are not written are turned when they are read."""
        if self.c["rope"] == "none":
            return key
        self.body.append(f"turnedkey = {self.turned(key, self.key)}")
        return "turnedkey"

    def keys_contiguous(self):
        c = self.c
        if c["source"] == "projected":
            self.facts.append("T = S")
            width = f"({' '.join(self.key_heads)} E)" if self.key_heads else "E"
            for name in ("wk", "wv"):
                self.declare(name, c["query_type"], [width, "D"])
            self.body += ["key = project(input, wk) with S as T", "val = project(input, wv) with S as T"]
            return self.later("key"), "val"
        heads = ["L"] if c["after"] == "talking" else self.key_heads
        self.declare("key", c["key_type"], self.ordered(self.key_heads, self.T, "E"))
        self.declare("val", c["key_type"], self.ordered(heads, self.T, self.F))
        return self.quantised("key", "val")

    def keys_image(self):
        self.facts += ["X = 5", "J = 7"]  # else a product such as (Y X) leaves both open
        return self.keys_contiguous()

    def quantised(self, key, val):
        if self.c["key_type"] == "i8":
            self.declare("keyscale", "f32", ["B", self.T])
            self.body += [f"realkey = {key} * keyscale * 0.02", f"realval = {val} * 0.02"]
            key, val = "realkey", "realval"
        return self.later(key), val

    def keys_padded(self):
        self.pair("", self.c["key_type"], lambda width: ["B", "T"] + self.key_heads + [width])
        self.declare("len", "i32", ["B"])
        self.facts.append("T[b] = len[b]")
        return self.quantised("key", "val")

    def keys_packed(self):
        self.pair("", self.c["key_type"], lambda width: ["(B T)"] + self.key_heads + [width])
        self.declare("koff", "i32", ["B + 1"])
        self.facts.append("T[b] = koff[b + 1] - koff[b]")
        return self.later("key"), "val"

    def keys_paged(self):
        self.pair("pool", self.c["key_type"], lambda width: ["L", "8"] + self.key_heads + [width])
        self.declare("page", "i32", ["B", "N"])
        self.declare("len", "i32", ["B"])
        self.facts += ["T[b] = len[b]", "len[b] <= 8 * N"]
        self.body += [f"{name} = {name}pool[{self.place('page[b, t / 8]', 't % 8', width)}]"
                      for name, width in (("key", "e"), ("val", self.F.lower()))]
        return self.later("key"), "val"

    def keys_paged_write(self):
        for name, width in (("key", "E"), ("val", self.F)):
            dims = ", ".join(["L", "8"] + self.key_heads + [width])
            self.inouts[name + "pool"] = f"inout {name}pool : {self.c['key_type']}[{dims}]"
        self.declare("page", "i32", ["B", "N"])
        self.facts += ["T[b] = past[b] + S", "past[b] + S <= 8 * N"]
        self.fresh()
        self.body += [f"{name}pool[{self.place('page[b, pos / 8]', 'pos % 8', width)}] = new{name}"
                      for name, width in (("key", "e"), ("val", self.F.lower()))]
        self.body += [f"{name} = {name}pool[{self.place('page[b, t / 8]', 't % 8', width)}]"
                      for name, width in (("key", "e"), ("val", self.F.lower()))]
        return "key", "val"

    def caches(self):
        for name, width in (("key", "E"), ("val", self.F)):
            dims = ", ".join(["B"] + self.key_heads + ["T", width])
            self.inouts[name + "cache"] = f"inout {name}cache : {self.c['key_type']}[{dims}]"
        self.fresh()

    def write(self, position):
        heads = [h.lower() for h in self.key_heads]
        for name, width in (("key", "e"), ("val", self.F.lower())):
            self.body.append(f"{name}cache[{', '.join(['b'] + heads + [position, width])}] = new{name}")
        return "keycache", "valcache"

    def keys_cache(self):
        self.caches()
        return self.write("pos")

    def keys_append(self):
        self.caches()
        for name in ("key", "val"):
            self.body.append(f"{name}cache = append({name}cache, new{name}, at: pos, over: T)")
        return "keycache", "valcache"

    def keys_ring(self):
        self.caches()
        self.facts.append("T >= 5 + S - 1")
        written = self.write("pos % T")
        self.body += ["last = past[b] + S - 1", "held = last - (last - t) % T"]
        return written

    # What is computed of a pair.

    def scores(self, query, keys):
        self.body.append(f"score = dot({query}, {self.normed(keys, 'keynorm')}, over: E)")
        key = "held" if self.c["storage"] == "ring" else self.key
        distance = f"({key} - ({self.at}))"
        for item in self.c["scores"]:
            if item == "argument":
                self.declare("factor", "f32", [])
            elif item == "alibi":
                self.declare("slope", "f32", self.query_heads)
            elif item == "bias":
                self.declare("bias", "f32", [self.S, self.T])
            elif item == "head_bias":
                self.declare("headbias", "f16", self.query_heads + [self.S, self.T])
            elif item == "clipped":
                self.declare("relative", "f32", ["9"] + self.query_heads)
            elif item == "table_row":
                self.declare("row", "f32", ["16"])
            elif item == "holes":
                self.declare("hole", "f32", [self.S, self.T])
            elif item == "bucket":
                self.declare("bucket", "f32", ["12"] + self.query_heads)
            elif item == "shifted":
                self.declare("far", "f32", ["Z", "E"])
                self.facts.append("Z = S + T - 1")
                self.body.append(f"near = dot({query}, far, over: E)")
            elif item == "pixel_bias":
                self.declare("pixel", "f32", self.query_heads + ["5", "5"])
            elif item == "second":
                self.declare("query2", "f32", self.ordered(self.query_heads, "" if self.c["single"] else "S", "U"))
                self.declare("key2", "f32", ["B", "T", "U"])
            self.body.append("score = " + {
                "scaled": "score * rsqrt(E)", "constant": "score * 0.3", "argument": "score * factor",
                "cap": "4 * tanh(score / 4)", "alibi": f"score + slope[{self.head_index}] * {distance}",
                "bias": "score + bias", "head_bias": "score + headbias",
                "clipped": f"score + relative[max(min({distance}, 4), -4) + 4, {self.head_index}]",
                "second": "score + dot(query2, key2, over: U)",
                "holes": "score + select(hole > 1, -inf, hole)",
                "bucket": "score + bucket[" + ", ".join(filter(None, [
                    f"select(abs({distance}) < 6, abs({distance}), "
                    f"min(6 + int(log(max(abs({distance}), 1) / 6.0) * 2.5), 11))", self.head_index])) + "]",
                "by_length": f"score * max(log({self.at} + 1.0) / log(8), 1)",
                "shifted": "score + near[Z: t - s + S - 1]",
                "pixel_bias": "score + pixel[" + ", ".join(filter(None, [
                    self.head_index, "max(min(i - y, 2), -2) + 2", "max(min(j - x, 2), -2) + 2"])) + "]",
                "table_row": f"score + row[abs({distance}) % 16]"}[item])
        return "score"

    def masks(self):
        c, q, k = self.c, f"({self.at})" if self.c["single"] else self.at, "held" if self.c["storage"] == "ring" else self.key
        found = []
        for item in c["masks"]:
            if item in ("length", "prefix", "front"):
                self.declare(item, "i32", ["B"])
            elif item == "keep":
                self.declare("keep", "bool", ["B", "T"])
            elif item == "table":
                self.declare("seen", "bool", self.query_heads + [self.S, self.T])
            elif item == "documents":
                self.declare("own", "i32", ["B", "S"])
                self.declare("other", "i32", ["B", "T"])
            elif item in ("window", "around"):
                self.declare("reach" + item, "i64", [])
            elif item == "reach":
                self.declare("reach", "i32", self.query_heads)
            elif item == "offsets":
                self.declare("offset", "i32", ["B", "S"])
            elif item == "block_table":
                self.declare("block", "bool", self.query_heads + ["3", "4"])
            found.append({
                "causal": f"{k} <= {q}", "window": f"0 <= {q} - {k} < reachwindow",
                "around": f"abs({q} - {k}) <= reacharound", "end": f"{k} <= {q} + T - S" if not c["single"] else f"{k} <= {q}",
                "prefix": f"({k} < prefix[b] or {k} <= {q})", "length": f"{k} < length[b]", "front": f"front[b] <= {k}",
                "keep": "keep[b, t]", "table": "seen", "documents": "own[b, s] == other[b, t]",
                "dilated": f"({q} - {k}) % 3 == 0", "blocks": f"{k} / 4 <= {q} / 4",
                "neighbours": f"0 <= {k} - max(min({q} - 3, T - 7), 0) < 7", "not_self": f"not {k} == {q}",
                "reach": f"0 <= {q} - {k} < reach[{self.head_index}]",
                "sink_window": f"({k} < 4 or {q} - {k} < 9)", "offsets": "offset[b, s] <= t",
                "near_pixels": "abs(i - y) <= 1 and abs(j - x) <= 2",
                "pixel_neighbours": "0 <= i - max(min(y - 1, I - 3), 0) < 3 and 0 <= j - max(min(x - 2, J - 5), 0) < 5",
                "global": f"(abs({q} - {k}) <= 3 or {k} < 2 or {q} < 2)",
                "block_table": f"block[{', '.join(filter(None, [self.head_index, f'({q}) / 5 % 3', f'{k} / 5 % 4']))}]"}[item])
        condition = f" {c['joiner']} ".join(f"({one})" if c["joiner"] == "or" else one for one in found)
        forced = {"cache": "t <= pos", "append": "t <= pos", "paged_write": "t <= pos",
                  "ring": "0 <= held and 0 <= pos - held < 5"}.get(c["storage"])
        if forced and condition:
            return f"{forced} and ({condition})"
        return forced or condition

    def attend(self, score, condition, values):
        c, where = self.c, ""
        if condition and (c["place"] == "statement" or c["normaliser"] != "softmax"):
            self.body.append(f"score = score  where {condition}")
        elif condition and c["place"] == "select":
            self.body.append(f"score = select({condition}, score, -inf)")
        elif condition:
            where = f", where: {condition}"
        if c["sink"] == "heads":
            self.declare("sinks", "f32", self.query_heads)
        sink = {"none": "", "zero": ", sink: 0", "heads": f", sink: sinks[{self.head_index}]"}[c["sink"]]
        self.body.append("prob = " + {"softmax": f"softmax({score}, over: {self.T}{where}{sink})", "sigmoid": f"sigmoid({score})",
                                      "relu": f"max({score}, 0)", "none": score}[c["normaliser"]])
        if c["lse"]:
            self.body.append(f"lse = logsumexp({score}, over: {self.T}{where}{sink})")
        self.after(score, where)
        self.body.append(f"mixed = dot(prob, {values}, over: {self.T})")
        return "mixed"

    def after(self, score, where):
        kind = self.c["after"]
        if kind == "scaled":
            self.declare("gain", "f32", ["B"])
            self.body.append("prob = prob * gain[b]")
        elif kind == "squared":
            self.body.append("prob = prob * prob")
        elif kind == "dropped":
            self.declare("seed", "i64", [])
            counter = f"b * 4096 + {self.key}" + ("" if self.c["single"] else f" + {self.query} * 64")
            self.body.append(f"prob = select(random(seed, {counter}) < 0.25, 0, prob / 0.75)")
        elif kind == "gated":
            self.declare("gate", "f32", [self.S, self.T])
            self.body.append("prob = prob * gate")
        elif kind == "limited":
            self.body.append("prob = min(prob, 0.25)")
        elif kind == "difference":
            other = f"softmax({score} * 0.5, over: {self.T}{where})" if self.c["normaliser"] == "softmax" else "sigmoid(score)"
            self.body.append(f"prob = prob - {other} * 0.4")
        elif kind == "talking":
            self.declare("talk", "f32", ["H", "L"])
            self.body.append("prob = dot(prob, talk, over: H)")

    def finish(self, output):
        c, heads = self.c, ["L"] if self.c["after"] == "talking" else self.query_heads
        length = ["(B S)"] if self.ragged_queries else ["B"] if c["single"] else ["B", self.S]
        width = self.F
        if c["output_projection"]:
            flat = f"({' '.join(h.strip('()') for h in heads)} {self.F})" if heads else self.F
            self.declare("wo", "f32", ["C", flat])
            self.body.append(f"out = project({output}, wo)")
            dims = length + ["C"]
        else:
            self.body.append(f"out = {output}")
            dims = length + heads + [width] if self.ragged_queries or c["single"] else self.ordered(heads, self.S, width)
        self.results["out"] = f"out : {c['out_type']}[{', '.join(dims)}]"
        if c["lse"]:
            self.results["lse"] = f"lse : f32[{', '.join(length + self.query_heads)}]"
        if c["weights"]:
            self.body.append("weights = prob")
            self.results["weights"] = f"weights : f32[{', '.join(length + heads + [self.T])}]"


def program(choices, name):
    return Writer(choices).text(name)
