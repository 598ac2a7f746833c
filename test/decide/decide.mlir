// RUN: attn-opt %s --attn-decide=target=x86-64-v4 --split-input-file | FileCheck %s

// The signature stays. A value that two writes read is computed in the stage of both, one that is only stored by place
// is a nest, and what nobody reads is gone.
// CHECK-LABEL: attn.kernel @writes(in "x" %x: !attn.ref<[S, D], f32>, in "w" %w: !attn.ref<[E, D], f32>, out "y" %y: !attn.ref<[S, E], f32>, out "z" %z: !attn.ref<[E, S], f32>) axes [<S = x.0>, <D = x.1>, <E = w.0>] facts [<E = D>] precise
// CHECK-NOT: attn.buffer
// CHECK: attn.stage {{ *}}contract <lanes = 16, vectors = 4, rows = 6, query_tile = 64, key_tile = 192, depth_tile = 1024> attributes {name = "y"} {
// CHECK: %[[C:.*]] = attn.contract {{ *}}project
// CHECK: attn.write %[[C]], %y
// CHECK: %[[T:.*]] = attn.map(%[[C]])
// CHECK: attn.write %[[T]], %z
// CHECK-NOT: attn.reduce
// CHECK-NOT: attn.stage
attn.program @writes(in "x" %x : !attn.ref<[S, D], f32>, in "w" %w : !attn.ref<[E, D], f32>, out "y" %y : !attn.ref<[S, E], f32>, out "z" %z : !attn.ref<[E, S], f32>)
    axes [<S = x.0>, <D = x.1>, <E = w.0>] facts [<E = D>] precise {
  %s = attn.index "S" : !attn.value<[S], i64>
  %d = attn.index "D" : !attn.value<[D], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %a = attn.read %x[%s, %d] : (!attn.ref<[S, D], f32>, !attn.value<[S], i64>, !attn.value<[D], i64>) -> !attn.value<[S, D], f32>
  %b = attn.read %w[%e, %d] : (!attn.ref<[E, D], f32>, !attn.value<[E], i64>, !attn.value<[D], i64>) -> !attn.value<[E, D], f32>
  %c = attn.contract project %a, %b over ["D"] : (!attn.value<[S, D], f32>, !attn.value<[E, D], f32>) -> !attn.value<[S, E], f32>
  %unread = attn.reduce sum %a over ["D"] : (!attn.value<[S, D], f32>) -> !attn.value<[S], f32>
  attn.write %c, %y[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
  %t = attn.map(%c) : (!attn.value<[S, E], f32>) -> !attn.value<[S, E], f32> {
  ^bb0(%p: f32):
    %q = math.tanh %p : f32
    attn.yield %q : f32
  }
  attn.write %t, %z[%e, %s] : !attn.value<[S, E], f32>, !attn.ref<[E, S], f32>, !attn.value<[E], i64>, !attn.value<[S], i64>
}

// -----

// Rows must be read plainly: dequantised weights are the lanes, whatever is stored innermost.
// CHECK-LABEL: attn.kernel @rows
// CHECK-NOT: attn.buffer
// CHECK: attn.stage {{ *}}contract
// CHECK: %[[X:.*]] = attn.read %x
// CHECK: %[[Q:.*]] = attn.map
// CHECK: attn.contract {{ *}}project %[[X]], %[[Q]]
attn.program @rows(in "x" %x : !attn.ref<[S, D], f32>, in "w" %w : !attn.ref<[E, D], i8>, out "y" %y : !attn.ref<[S, E], f32>)
    axes [<S = x.0>, <D = x.1>, <E = w.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %d = attn.index "D" : !attn.value<[D], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %a = attn.read %x[%s, %d] : (!attn.ref<[S, D], f32>, !attn.value<[S], i64>, !attn.value<[D], i64>) -> !attn.value<[S, D], f32>
  %b = attn.read %w[%e, %d] : (!attn.ref<[E, D], i8>, !attn.value<[E], i64>, !attn.value<[D], i64>) -> !attn.value<[E, D], i64>
  %q = attn.map(%b) : (!attn.value<[E, D], i64>) -> !attn.value<[E, D], f32> {
  ^bb0(%p: i64):
    %f = arith.sitofp %p : i64 to f32
    attn.yield %f : f32
  }
  %c = attn.contract project %q, %a over ["D"] : (!attn.value<[E, D], f32>, !attn.value<[S, D], f32>) -> !attn.value<[S, E], f32>
  attn.write %c, %y[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// A product without an axis of one side's own, as of a matrix with a vector, has lanes along the other side's.
// CHECK-LABEL: attn.kernel @vector
// CHECK: attn.stage {{ *}}contract
// CHECK: attn.contract
attn.program @vector(in "x" %x : !attn.ref<[D], f32>, in "w" %w : !attn.ref<[E, D], f32>, out "y" %y : !attn.ref<[E], f32>)
    axes [<D = x.0>, <E = w.0>] facts [] {
  %d = attn.index "D" : !attn.value<[D], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %a = attn.read %x[%d] : (!attn.ref<[D], f32>, !attn.value<[D], i64>) -> !attn.value<[D], f32>
  %b = attn.read %w[%e, %d] : (!attn.ref<[E, D], f32>, !attn.value<[E], i64>, !attn.value<[D], i64>) -> !attn.value<[E, D], f32>
  %c = attn.contract project %a, %b over ["D"] : (!attn.value<[D], f32>, !attn.value<[E, D], f32>) -> !attn.value<[E], f32>
  attn.write %c, %y[%e] : !attn.value<[E], f32>, !attn.ref<[E], f32>, !attn.value<[E], i64>
}
