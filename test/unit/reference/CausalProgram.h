// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Causal attention of one head, at each level of the dialect.
#ifndef ATTN_TEST_UNIT_REFERENCE_CAUSALPROGRAM_H
#define ATTN_TEST_UNIT_REFERENCE_CAUSALPROGRAM_H

#include "Programs.h"

namespace attn::reference {

/// q[S,E] k[T,E] v[T,E], causal; the math level, or attn.flash inside or
/// outside of a kernel, with the mask as a condition or as bounds.
enum class Level { Math, Flash, Bounds, Kernel };
inline std::string causal(Level level) {
  std::string head =
      R"((in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>,
      in "v" %v : !attn.ref<[T, F], f32>, out "o" %o : !attn.ref<[S, F], f32>, out "lse" %lse : !attn.ref<[S], f32>)
      axes [<S = q.0>, <E = q.1>, <T = k.0>, <F = v.1>] facts [] {)";
  std::string loads = R"(
      %s = attn.index "S" : ~S:i64~
      %t = attn.index "T" : ~T:i64~
      %e = attn.index "E" : ~E:i64~
      %f = attn.index "F" : ~F:i64~
      %x = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, ~S:i64~, ~E:i64~) -> ~E, S~
      %y = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, ~T:i64~, ~E:i64~) -> ~E, T~
      %z = attn.read %v[%t, %f] : (!attn.ref<[T, F], f32>, ~T:i64~, ~F:i64~) -> ~F, T~
      %half = attn.constant 0.5 : f32 : ~~
      %end = attn.map(%s) : (~S:i64~) -> ~S:i64~ {
      ^bb0(%a: i64):
        %one = arith.constant 1 : i64
        %r = arith.addi %a, %one : i64
        attn.yield %r : i64
      })";
  std::string seen = R"(
      %c = attn.map(%t, %s) : (~T:i64~, ~S:i64~) -> ~S, T:i1~ {
      ^bb0(%a: i64, %b: i64):
        %r = arith.cmpi sle, %a, %b : i64
        attn.yield %r : i1
      })";
  std::string scaled = R"(
      %scaled = attn.map(%raw, %half) : (~S, T~, ~~) -> ~S, T~ {
      ^bb0(%a: f32, %b: f32):
        %r = arith.mulf %a, %b : f32
        attn.yield %r : f32
      })";
  std::string math = R"(
      %raw = attn.contract score %x, %y over ["E"] : (~E, S~, ~E, T~) -> ~S, T~)" +
                     scaled + R"(
      %m = attn.where %scaled, %c : (~S, T~, ~S, T:i1~) -> ~S, T~
      %w = attn.softmax %m over ["T"] : (~S, T~) -> ~S, T~
      %l = attn.logsumexp %m over ["T"] : (~S, T~) -> ~S~
      %mix = attn.contract mix %w, %z over ["T"] : (~S, T~, ~F, T~) -> ~F, S~)";
  std::string flash =
      R"(
      %mix, %l = attn.flash softmax queries(%x) keys(%y) contracted [["E"]] values(%z) over ["T"] )" +
      std::string(
          level == Level::Bounds
              ? "upper(%end) {logsumexp} : (~E, S~, ~E, T~, ~F, T~, ~S:i64~)"
              : "{logsumexp} : (~E, S~, ~E, T~, ~F, T~)") +
      R"( -> (~F, S~, ~S~) {
      ^bb0(%raw: ~S, T~):)" +
      scaled +
      (level == Level::Bounds ? R"(
        attn.yield %scaled : ~S, T~
      })"
                              : seen + R"(
        attn.yield %scaled, %c : ~S, T~, ~S, T:i1~
      })");
  std::string writes = R"(
      attn.write %mix, %o[%s, %f] : ~F, S~, !attn.ref<[S, F], f32>, ~S:i64~, ~F:i64~
      attn.write %l, %lse[%s] : ~S~, !attn.ref<[S], f32>, ~S:i64~
  )";
  std::string body =
      loads + (level == Level::Math ? seen + math : flash) + writes;
  if (level == Level::Kernel)
    return expand("attn.kernel @p" + head + R"(
      attn.stage flash <lanes = 8, vectors = 2, rows = 6, query_tile = 48, key_tile = 32, depth_tile = 64> {)" +
                  body + "} }");
  return expand("attn.program @p" + head + body + "}");
}

} // namespace attn::reference

#endif
