// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One descriptor, written by hand, and calls against it that start out right:
//
//   mha(x : f32[B, S, D], wq : f32[(H E), D], inout cache : bf16[B, C, (H E)],
//       n : i64) -> (y : f32[B, S, H, E])
//   where H = 4, E = D / H, n + S <= C

#ifndef ATTN_TEST_UNIT_RUNTIME_CALL_H
#define ATTN_TEST_UNIT_RUNTIME_CALL_H

#include "runtime/bind/Bind.h"

#include <string>
#include <vector>

namespace attn::test {

/// A DLTensor that owns its shape, strides and memory.
struct Tensor {
  std::vector<int64_t> shape, strides;
  std::vector<uint64_t> memory; // for alignment
  DLTensor dl = {};

  Tensor(int code, int bits, std::vector<int64_t> extents)
      : shape(std::move(extents)), memory(4096) {
    dl.data = memory.data();
    dl.device = {kDLCPU, 0};
    dl.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
    update();
  }

  void setShape(std::vector<int64_t> extents) {
    shape = std::move(extents);
    update();
  }
  void setStrides(std::vector<int64_t> elements) {
    strides = std::move(elements);
    update();
  }
  void update() {
    dl.ndim = static_cast<int32_t>(shape.size());
    dl.shape = shape.data();
    dl.strides = strides.empty() ? nullptr : strides.data();
  }
};

enum Axis { B, S, D, H, C, E };
enum Argument { X, Wq, Cache, N, Y };

/// The descriptor at the top of this file.
inline const attn_desc &descriptor() {
  static const int64_t b[] = {ATTN_OP_DIM, X, 0, 0},
                       s[] = {ATTN_OP_DIM, X, 1, 0},
                       d[] = {ATTN_OP_DIM, X, 2, 0}, h[] = {ATTN_OP_PUSH, 4, 0},
                       c[] = {ATTN_OP_DIM, Cache, 1, 0},
                       e[] = {ATTN_OP_DIM, Wq,          0, ATTN_OP_AXIS,
                              H,           ATTN_OP_DIV, 0};
  static const attn_axis axes[] = {
      {"B", {b, "x.0"}}, {"S", {s, "x.1"}},     {"D", {d, "x.2"}},
      {"H", {h, "4"}},   {"C", {c, "cache.1"}}, {"E", {e, "wq.0 / H"}}};
  static const int64_t atB[] = {ATTN_OP_AXIS, B, 0},
                       atS[] = {ATTN_OP_AXIS, S, 0},
                       atD[] = {ATTN_OP_AXIS, D, 0},
                       atH[] = {ATTN_OP_AXIS, H, 0},
                       atC[] = {ATTN_OP_AXIS, C, 0},
                       atE[] = {ATTN_OP_AXIS, E, 0};
  static const attn_expr fB[] = {{atB, "B"}}, fS[] = {{atS, "S"}},
                         fD[] = {{atD, "D"}}, fH[] = {{atH, "H"}},
                         fC[] = {{atC, "C"}}, fE[] = {{atE, "E"}},
                         fHE[] = {{atH, "H"}, {atE, "E"}};
  static const attn_dim dB = {1, fB, "B"}, dS = {1, fS, "S"}, dD = {1, fD, "D"},
                        dH = {1, fH, "H"}, dC = {1, fC, "C"}, dE = {1, fE, "E"},
                        dHE = {2, fHE, "(H E)"};
  static const attn_dim x[] = {dB, dS, dD}, wq[] = {dHE, dD},
                        cache[] = {dB, dC, dHE}, y[] = {dB, dS, dH, dE};
  static const attn_arg args[] = {
      {"x", ATTN_MODE_IN, kDLFloat, 32, 0, 3, x},
      {"wq", ATTN_MODE_IN, kDLFloat, 32, 0, 2, wq},
      {"cache", ATTN_MODE_INOUT, kDLBfloat, 16, 0, 3, cache},
      {"n", ATTN_MODE_IN, kDLInt, 64, 1, 0, nullptr},
      {"y", ATTN_MODE_OUT, kDLFloat, 32, 0, 4, y}};
  static const int64_t fact[] = {ATTN_OP_AXIS, D, ATTN_OP_AXIS, H,
                                 ATTN_OP_DIV,  0};
  static const attn_fact facts[] = {{E, {fact, "D / H"}}};
  static const int64_t fits[] = {
      ATTN_OP_SCALAR, N, ATTN_OP_AXIS, S, ATTN_OP_ADD,
      ATTN_OP_AXIS,   C, ATTN_OP_LE,   0};
  static const attn_expr requirements[] = {{fits, "n + S <= C"}};
  static const attn_desc desc = {
      ATTN_DESC_VERSION, "mha", 5, args, 6, axes, 1, facts, 1, requirements};
  return desc;
}

/// A call with B 2, S 3, D 8, H 4, C 7, E 2, n 4: right until a test spoils it.
struct Call {
  Tensor x{kDLFloat, 32, {2, 3, 8}}, wq{kDLFloat, 32, {8, 8}},
      cache{kDLBfloat, 16, {2, 7, 8}}, y{kDLFloat, 32, {2, 3, 4, 2}};
  int64_t n = 4;
  const void *args[5] = {&x.dl, &wq.dl, &cache.dl, &n, &y.dl};
  std::vector<int64_t> frame;
  char text[256] = "before";
  attn_context context = {};

  Call() : frame(attn_frame_size(&descriptor())) {
    context.size = sizeof(context);
    context.version = ATTN_ABI_VERSION;
    context.threads = 1;
    context.message = text;
    context.message_size = sizeof(text);
  }

  int32_t status() {
    return attn_bind(&descriptor(), &context, args, frame.data());
  }

  /// The message of a refusal as a bad argument, else the status's name.
  std::string refusal() {
    int32_t result = status();
    if (result == ATTN_BAD_ARGUMENT)
      return text;
    return attn_status_name(static_cast<attn_status>(result));
  }
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_RUNTIME_CALL_H
