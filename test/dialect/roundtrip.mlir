// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is printed parses back to the same text: types, extents, each operation.
// RUN: attn-opt %s > %t.once.mlir
// RUN: attn-opt %t.once.mlir | diff %t.once.mlir -
// RUN: FileCheck %s < %t.once.mlir

// Axes of a value are a set; a dimension is an extent, an axis or a product of factors.
// CHECK-LABEL: attn.program @types(
// CHECK-SAME: in "x" %x: !attn.ref<[S, (H E)], f32>
// CHECK-SAME: inout "c" %c: !attn.ref<[B + 1, ((E / 2) 4), H * 2 - 1], bf16>
// CHECK-SAME: out "y" %y: !attn.ref<[S], f32>
// CHECK-SAME: axes [<S = x.0>, <H = 4>, <E = x.1 / H>, <B = c.0 - 1>, <T[B]>] facts [<E = H * 2>] precise
attn.program @types(in "x" %x : !attn.ref<[S, (H E)], f32>, inout "c" %c : !attn.ref<[B + 1, ((E / 2) 4), 2 * H - 1], bf16>,
                    out "y" %y : !attn.ref<[S], f32>)
    axes [<S = x.0>, <H = 4>, <E = x.1 / H>, <B = c.0 - 1>, <T[B]>] facts [<E = 2 * H>] precise {
  %s = attn.index "S" : !attn.value<[S], i64>
  %h = attn.index "H" : !attn.value<[H], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %b = attn.index "B" : !attn.value<[B], i64>
  // CHECK: attn.ragged "T" = %{{.*}} : <[B], i64>
  attn.ragged "T" = %b : !attn.value<[B], i64>
  // CHECK: -> !attn.value<[E, H, S], f32>
  %x0 = attn.read %x[%s, %h, %e] : (!attn.ref<[S, (H E)], f32>, !attn.value<[S], i64>, !attn.value<[H], i64>, !attn.value<[E], i64>) -> !attn.value<[S, H, E], f32>
  %sum = attn.reduce sum %x0 over ["E", "H"] : (!attn.value<[S, H, E], f32>) -> !attn.value<[S], f32>
  attn.write %sum, %y[%s] : !attn.value<[S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>
}

// CHECK-LABEL: attn.program @operations
attn.program @operations(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, inout "c" %c : !attn.ref<[T, E], f32>,
                         out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>, <I = E / 2>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %n = attn.extent "T" : !attn.value<[], i64>
  %half = attn.constant 5.000000e-01 : f32 : !attn.value<[], f32>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  // CHECK: attn.map(%{{.*}}, %{{.*}}) : (!attn.value<[S], i64>, !attn.value<[T], i64>) -> !attn.value<[S, T], i1>
  %seen = attn.map(%s, %t) : (!attn.value<[S], i64>, !attn.value<[T], i64>) -> !attn.value<[S, T], i1> {
  ^bb0(%a : i64, %b : i64):
    %0 = arith.cmpi sle, %b, %a : i64
    attn.yield %0 : i1
  }
  // CHECK: attn.and
  %both = attn.and %seen, %seen : (!attn.value<[S, T], i1>, !attn.value<[S, T], i1>) -> !attn.value<[S, T], i1>
  // CHECK: attn.or
  %any = attn.or %both, %seen : (!attn.value<[S, T], i1>, !attn.value<[S, T], i1>) -> !attn.value<[S, T], i1>
  // CHECK: attn.contract {{ *}}score
  %score = attn.contract score %qv, %kv over ["E"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>) -> !attn.value<[S, T], f32>
  // CHECK: attn.where
  %masked = attn.where %score, %any : (!attn.value<[S, T], f32>, !attn.value<[S, T], i1>) -> !attn.value<[S, T], f32>
  // CHECK: attn.softmax %{{.*}} over ["T"] sink
  %weights = attn.softmax %masked over ["T"] sink %half : (!attn.value<[S, T], f32>, !attn.value<[], f32>) -> !attn.value<[S, T], f32>
  // CHECK: attn.logsumexp
  %lse = attn.logsumexp %masked over ["T"] : (!attn.value<[S, T], f32>) -> !attn.value<[S], f32>
  %mix = attn.contract mix %weights, %kv over ["T"] : (!attn.value<[S, T], f32>, !attn.value<[E, T], f32>) -> !attn.value<[E, S], f32>
  // CHECK: attn.select
  %pick = attn.select %seen, %lse, %half : (!attn.value<[S, T], i1>, !attn.value<[S], f32>, !attn.value<[], f32>) -> !attn.value<[S, T], f32>
  // CHECK: attn.take %{{.*}} ["T"]
  %row = attn.take %pick ["T"][%s] : (!attn.value<[S, T], f32>, !attn.value<[S], i64>) -> !attn.value<[S], f32>
  // CHECK: attn.rename %{{.*}} ["S"] as ["T"]
  %keys = attn.rename %row ["S"] as ["T"] : (!attn.value<[S], f32>) -> !attn.value<[T], f32>
  %angle = attn.map(%s, %i) : (!attn.value<[S], i64>, !attn.value<[I], i64>) -> !attn.value<[I, S], f32> {
  ^bb0(%a : i64, %b : i64):
    %0 = arith.muli %a, %b : i64
    %1 = arith.sitofp %0 : i64 to f32
    // CHECK: attn.philox
    %2 = attn.philox %a, %b : f32
    %3 = arith.addf %1, %2 : f32
    attn.yield %3 : f32
  }
  // CHECK: attn.rope {{ *}}interleaved
  %turned = attn.rope interleaved %mix cos %angle sin %angle over "E" by "I" : (!attn.value<[E, S], f32>, !attn.value<[I, S], f32>, !attn.value<[I, S], f32>) -> !attn.value<[E, S], f32>
  %some = attn.map(%t, %n) : (!attn.value<[T], i64>, !attn.value<[], i64>) -> !attn.value<[T], i1> {
  ^bb0(%a : i64, %b : i64):
    %0 = arith.cmpi slt, %a, %b : i64
    attn.yield %0 : i1
  }
  // CHECK: attn.write %{{.*}} where %{{.*}} :
  attn.write %keys, %c[%t, %e] where %some : !attn.value<[T], f32>, !attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>, !attn.value<[T], i1>
  // CHECK: attn.require %{{.*}}, "T fits" : <[T], i1>
  attn.require %some, "T fits" : !attn.value<[T], i1>
  attn.write %turned, %o[%s, %e] : !attn.value<[E, S], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// CHECK-LABEL: attn.kernel @decided
attn.kernel @decided(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  // CHECK: attn.buffer : <[S, E], f32>
  %buffer = attn.buffer : !attn.ref<[S, E], f32>
  // CHECK: attn.stage {{ *}}flash <lanes = 8, vectors = 2, rows = 6, query_tile = 192, key_tile = 60, depth_tile = 256>
  attn.stage flash <lanes = 8, vectors = 2, rows = 6, query_tile = 192, key_tile = 60, depth_tile = 256> {
    %s = attn.index "S" : !attn.value<[S], i64>
    %t = attn.index "T" : !attn.value<[T], i64>
    %e = attn.index "E" : !attn.value<[E], i64>
    %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
    %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
    // CHECK: attn.flash {{ *}}softmax queries(%{{.*}}) keys(%{{.*}}) contracted {{\[\["E"\]\]}} values(%{{.*}}) over ["T"] lower(%{{.*}}, %{{.*}}) upper(%{{.*}}, %{{.*}}) {logsumexp}
    %out, %lse = attn.flash softmax queries(%qv) keys(%kv) contracted [["E"]] values(%kv) over ["T"] lower(%s, %s) upper(%s, %s) {logsumexp} : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[E, T], f32>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>) -> (!attn.value<[E, S], f32>, !attn.value<[S], f32>) {
    ^bb0(%raw : !attn.value<[S, T], f32>):
      attn.yield %raw : !attn.value<[S, T], f32>
    }
    attn.write %out, %buffer[%s, %e] : !attn.value<[E, S], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
  }
}
