# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls kernels of a shared library made by `attnc compile --emit=shared,json` through their C interface.

    kernels = load("folder/spec")              # folder/libspec.so and folder/spec.json
    out = kernels.causal(q=q, k=k, v=v)        # a dict of results and inouts

Arrays are passed as they lie, with whatever strides they have. Results lie between guards and hold NaN before the
call; a kernel that writes outside of them, or returns a status other than 0, is an error.
"""
import ctypes
import json
import mmap
import os
import random
import re
import threading

import numpy as np

DTYPES = {"f32": (np.float32, 2, 32), "i32": (np.int32, 0, 32), "i64": (np.int64, 0, 64), "u8": (np.uint8, 1, 8),
          "i8": (np.int8, 0, 8), "bool": (np.bool_, 6, 8), "f16": (np.float16, 2, 16), "bf16": (np.uint16, 4, 16),
          "f8e4m3": (np.uint8, 10, 8), "f8e5m2": (np.uint8, 12, 8)}
SCALARS = {"f32": ctypes.c_float, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "bool": ctypes.c_bool,
           "f8e4m3": ctypes.c_uint8, "f8e5m2": ctypes.c_uint8}
GUARD = 64  # elements on each side of a result


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, TASK, ctypes.c_void_p)


class Context(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("version", ctypes.c_uint32), ("threads", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("parallel_for", PARALLEL), ("alloc", ctypes.c_void_p),
                ("free", ctypes.c_void_p), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t),
                ("stream", ctypes.c_void_p), ("message", ctypes.c_char_p), ("message_size", ctypes.c_size_t),
                ("user", ctypes.c_void_p)]


def workers(count):
    """A hook that hands tasks in a random order to `count` real threads."""
    def run(context, tasks, body, data):
        order = list(range(tasks))
        random.Random(count).shuffle(order)

        def work(worker):
            while True:
                try:
                    task = order.pop()
                except IndexError:
                    return
                body(data, task, worker)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return PARALLEL(run)


def describe(array, dtype):
    """A DLTensor and what it refers to."""
    _, code, bits = DTYPES[dtype]
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))
    tensor = Tensor(array.ctypes.data, 1, 0, array.ndim, code, bits, 1, shape, strides, 0)
    return tensor, (array, shape, strides)


def guarded(array, against_end=True):
    """A copy between two pages that can't be touched, against the one behind it or the one in front."""
    page = mmap.PAGESIZE
    used = -(-array.nbytes // page) * page
    whole = np.frombuffer(mmap.mmap(-1, used + 2 * page), np.uint8)
    for edge in (0, page + used):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(whole.ctypes.data + edge), ctypes.c_size_t(page), 0) == 0
    first = page + used - array.nbytes if against_end else page
    copy = whole[first:first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def evaluate(expression, extents):
    if expression.startswith("("):
        factors = re.findall(r"\([^()]*\)|\S+", expression[1:-1])
        return int(np.prod([evaluate(factor, extents) for factor in factors]))
    return eval(expression.replace("/", "//"), {}, dict(extents))


class Result:
    """A result between guards, full of NaN."""
    def __init__(self, shape, dtype):
        kind = DTYPES[dtype][0]
        count = int(np.prod(shape, dtype=np.int64))
        self.whole = np.full((count + 2 * GUARD) * np.dtype(kind).itemsize, 0xFF, np.uint8)
        self.array = self.whole.view(kind)[GUARD:GUARD + count].reshape(shape)
        self.edge = GUARD * self.array.itemsize

    def intact(self):
        return bool((self.whole[:self.edge] == 0xFF).all() and (self.whole[len(self.whole) - self.edge:] == 0xFF).all())


class Refused(Exception):
    pass


class Kernel:
    def __init__(self, library, description):
        self.arguments = description["arguments"]
        self.axes = description["axes"]
        self.name = description["name"]
        self.call = getattr(library, description["function"])
        self.size = getattr(library, description["workspace_function"])

    def extents(self, arrays):
        known = {}
        for axis in self.axes:
            if "extent" not in axis:  # Ragged: results along it are the caller's.
                continue
            text = re.sub(r"(\w+)\.(\d+)", lambda m: str(arrays[m[1]].shape[int(m[2])]), axis["extent"])
            known[axis["name"]] = evaluate(text, known)
        return known

    def results(self, arrays, given):
        extents = self.extents(arrays)
        return {a["name"]: Result([evaluate(dim, extents) for dim in a["dims"]], a["dtype"])
                for a in self.arguments if a["mode"] == "out" and a["name"] not in given}

    def __call__(self, threads=1, out=None, **values):
        """`out` gives arrays for results, which then need not be compact; those along ragged axes must be given."""
        arrays = {}
        for argument in self.arguments:
            name = argument["name"]
            if argument["mode"] != "out" and argument["passed"] == "DLTensor":
                kind = DTYPES[argument["dtype"]][0]
                arrays[name] = values[name]
                assert arrays[name].dtype == kind, (name, arrays[name].dtype)
        results = self.results(arrays, out or {})
        arrays.update({name: result.array for name, result in results.items()})
        arrays.update(out or {})
        passed, kept = [], []
        for argument in self.arguments:
            name = argument["name"]
            if argument["passed"] == "DLTensor":
                tensor, keep = describe(arrays[name], argument["dtype"])
                kept += [tensor, keep]
                passed.append(ctypes.byref(tensor))
            else:
                passed.append(SCALARS[argument["dtype"]](values[name]))
        message = ctypes.create_string_buffer(512)
        context = Context(ctypes.sizeof(Context), 1, threads, 0)
        hook = workers(threads)
        if threads > 1:
            context.parallel_for = hook
        context.message, context.message_size = ctypes.cast(message, ctypes.c_char_p), 512
        needed = ctypes.c_size_t()
        self.check(self.size(ctypes.byref(context), *passed, ctypes.byref(needed)), message)
        space = np.full(needed.value + 128, 0xFF, np.uint8)
        start = -space.ctypes.data % 64
        context.workspace, context.workspace_bytes = space.ctypes.data + start, needed.value
        self.check(self.call(ctypes.byref(context), *passed), message)
        assert (space[:start] == 0xFF).all() and (space[start + needed.value:] == 0xFF).all(), "wrote past workspace"
        for name, result in results.items():
            assert result.intact(), f"wrote outside of {name}"
        return {a["name"]: arrays[a["name"]] for a in self.arguments if a["mode"] != "in"}

    def check(self, status, message):
        if status:
            raise Refused(f"{self.name}: status {status}: {message.value.decode()}")


class Kernels:
    pass


def load(path):
    folder, name = os.path.split(path)
    library = ctypes.CDLL(os.path.join(os.path.abspath(folder), f"lib{name}.so"))
    kernels = Kernels()
    with open(path + ".json") as stream:
        for description in json.load(stream)["kernels"]:
            setattr(kernels, description["name"], Kernel(library, description))
    return kernels
