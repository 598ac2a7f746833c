// RUN: attn-opt %s --attn-simplify --cse --split-input-file | FileCheck %s

// A rename becomes reads at the other index; what only the rename reads is renamed itself.
// CHECK-LABEL: attn.program @rename_into_reads
attn.program @rename_into_reads(in "x" %x : !attn.ref<[S, D], f32>, in "w" %w : !attn.ref<[E, D], f32>, out "y" %y : !attn.ref<[E, S], f32>)
    axes [<S = x.0>, <D = x.1>, <E = w.0>, <T = S>] facts [] {
  // CHECK-DAG: %[[T:.*]] = attn.index "T"
  // CHECK-DAG: %[[D:.*]] = attn.index "D"
  // CHECK: %[[X:.*]] = attn.read %x[%[[T]], %[[D]]]
  // CHECK: %[[K:.*]] = attn.contract {{ *}}project %[[X]], %{{.*}} over ["D"] {{.*}} -> !attn.value<[E, T], f32>
  // CHECK-NOT: attn.rename
  // CHECK: attn.write %[[K]]
  %s = attn.index "S" : !attn.value<[S], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %d = attn.index "D" : !attn.value<[D], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %a = attn.read %x[%s, %d] : (!attn.ref<[S, D], f32>, !attn.value<[S], i64>, !attn.value<[D], i64>) -> !attn.value<[S, D], f32>
  %b = attn.read %w[%e, %d] : (!attn.ref<[E, D], f32>, !attn.value<[E], i64>, !attn.value<[D], i64>) -> !attn.value<[E, D], f32>
  %k = attn.contract project %a, %b over ["D"] : (!attn.value<[S, D], f32>, !attn.value<[E, D], f32>) -> !attn.value<[S, E], f32>
  %r = attn.rename %k ["S"] as ["T"] : (!attn.value<[S, E], f32>) -> !attn.value<[T, E], f32>
  attn.write %r, %y[%e, %t] : !attn.value<[T, E], f32>, !attn.ref<[E, S], f32>, !attn.value<[E], i64>, !attn.value<[T], i64>
}

// -----

// What others read too is computed once, and taken from.
// CHECK-LABEL: attn.program @rename_of_shared
attn.program @rename_of_shared(in "x" %x : !attn.ref<[S, D], f32>, out "y" %y : !attn.ref<[S], f32>, out "z" %z : !attn.ref<[T], f32>)
    axes [<S = x.0>, <D = x.1>, <T = S>] facts [] {
  // CHECK: %[[N:.*]] = attn.reduce {{ *}}sum
  // CHECK: attn.take %[[N]] ["S"][%{{.*}}] : (!attn.value<[S], f32>, !attn.value<[T], i64>) -> !attn.value<[T], f32>
  %s = attn.index "S" : !attn.value<[S], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %d = attn.index "D" : !attn.value<[D], i64>
  %a = attn.read %x[%s, %d] : (!attn.ref<[S, D], f32>, !attn.value<[S], i64>, !attn.value<[D], i64>) -> !attn.value<[S, D], f32>
  %n = attn.reduce sum %a over ["D"] : (!attn.value<[S, D], f32>) -> !attn.value<[S], f32>
  %r = attn.rename %n ["S"] as ["T"] : (!attn.value<[S], f32>) -> !attn.value<[T], f32>
  attn.write %n, %y[%s] : !attn.value<[S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>
  attn.write %r, %z[%t] : !attn.value<[T], f32>, !attn.ref<[T], f32>, !attn.value<[T], i64>
}

// -----

// The contracted axis bears the new name: it takes the old one.
// CHECK-LABEL: attn.program @rename_onto_contracted
attn.program @rename_onto_contracted(in "p" %p : !attn.ref<[S, T], f32>, in "v" %v : !attn.ref<[T], f32>, out "z" %z : !attn.ref<[T], f32>)
    axes [<S = p.0>, <T = v.0>] facts [<T = S>] {
  // CHECK-DAG: %[[T:.*]] = attn.index "T"
  // CHECK-DAG: %[[S:.*]] = attn.index "S"
  // CHECK: %[[P:.*]] = attn.read %p[%[[T]], %[[S]]]
  // CHECK: %[[V:.*]] = attn.read %v[%[[S]]]
  // CHECK: attn.contract {{ *}}dot %[[P]], %[[V]] over ["S"]
  %s = attn.index "S" : !attn.value<[S], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %a = attn.read %p[%s, %t] : (!attn.ref<[S, T], f32>, !attn.value<[S], i64>, !attn.value<[T], i64>) -> !attn.value<[S, T], f32>
  %b = attn.read %v[%t] : (!attn.ref<[T], f32>, !attn.value<[T], i64>) -> !attn.value<[T], f32>
  %c = attn.contract dot %a, %b over ["T"] : (!attn.value<[S, T], f32>, !attn.value<[T], f32>) -> !attn.value<[S], f32>
  %r = attn.rename %c ["S"] as ["T"] : (!attn.value<[S], f32>) -> !attn.value<[T], f32>
  attn.write %r, %z[%t] : !attn.value<[T], f32>, !attn.ref<[T], f32>, !attn.value<[T], i64>
}

// -----

// A shift reads out of range at the edge, which is absent as before. Where no stored tensor ends with
// the axis, a condition says so.
// CHECK-LABEL: attn.program @take_of_pointwise
attn.program @take_of_pointwise(in "x" %x : !attn.ref<[T], f32>, out "y" %y : !attn.ref<[T], f32>, out "z" %z : !attn.ref<[T], i64>)
    axes [<T = x.0>] facts [] {
  // CHECK: %[[I:.*]] = attn.map
  // CHECK: %[[X:.*]] = attn.read %x[%[[I]]]
  // CHECK-NOT: attn.take
  // CHECK: %[[N:.*]] = attn.extent "T"
  // CHECK: %[[OK:.*]] = attn.map(%[[I]], %[[N]])
  // CHECK: %[[Z:.*]] = attn.where %[[I]], %[[OK]]
  // CHECK: attn.write %[[X]], %y
  // CHECK: attn.write %[[Z]], %z
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.map(%t) : (!attn.value<[T], i64>) -> !attn.value<[T], i64> {
  ^bb0(%a: i64):
    %one = arith.constant 1 : i64
    %m = arith.subi %a, %one : i64
    attn.yield %m : i64
  }
  %a = attn.read %x[%t] : (!attn.ref<[T], f32>, !attn.value<[T], i64>) -> !attn.value<[T], f32>
  %b = attn.take %a ["T"][%i] : (!attn.value<[T], f32>, !attn.value<[T], i64>) -> !attn.value<[T], f32>
  %c = attn.take %t ["T"][%i] : (!attn.value<[T], i64>, !attn.value<[T], i64>) -> !attn.value<[T], i64>
  attn.write %b, %y[%t] : !attn.value<[T], f32>, !attn.ref<[T], f32>, !attn.value<[T], i64>
  attn.write %c, %z[%t] : !attn.value<[T], i64>, !attn.ref<[T], i64>, !attn.value<[T], i64>
}

// -----

// Extents that the declarations fix are numbers, and so is what follows from them.
// CHECK-LABEL: attn.program @constants
attn.program @constants(in "x" %x : !attn.ref<[S], f32>, out "y" %y : !attn.ref<[S], f32>)
    axes [<S = x.0>, <E = 64>, <H = E / 16>] facts [] {
  // CHECK: attn.map(%{{.*}}) : (!attn.value<[S], f32>)
  // CHECK: arith.constant 5.000000e-01 : f32
  %s = attn.index "S" : !attn.value<[S], i64>
  %h = attn.extent "H" : !attn.value<[], i64>
  %c = attn.map(%h) : (!attn.value<[], i64>) -> !attn.value<[], f32> {
  ^bb0(%a: i64):
    %f = arith.sitofp %a : i64 to f32
    %r = math.rsqrt %f : f32
    attn.yield %r : f32
  }
  %a = attn.read %x[%s] : (!attn.ref<[S], f32>, !attn.value<[S], i64>) -> !attn.value<[S], f32>
  %b = attn.map(%a, %c) : (!attn.value<[S], f32>, !attn.value<[], f32>) -> !attn.value<[S], f32> {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    attn.yield %m : f32
  }
  attn.write %b, %y[%s] : !attn.value<[S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>
}

// -----

// An inout is read where it stood: a rename behind the write does not see what was written.
// CHECK-LABEL: attn.program @inout_read_stays
attn.program @inout_read_stays(inout "c" %c : !attn.ref<[S], f32>, in "x" %x : !attn.ref<[S], f32>, out "z" %z : !attn.ref<[T], f32>)
    axes [<S = x.0>, <T = S>] facts [] {
  // CHECK: %[[OLD:.*]] = attn.read %c[%{{.*}}] {{.*}} -> !attn.value<[T], f32>
  // CHECK: attn.write %{{.*}}, %c
  // CHECK: attn.write %[[OLD]], %z
  %s = attn.index "S" : !attn.value<[S], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %old = attn.read %c[%s] : (!attn.ref<[S], f32>, !attn.value<[S], i64>) -> !attn.value<[S], f32>
  %new = attn.read %x[%s] : (!attn.ref<[S], f32>, !attn.value<[S], i64>) -> !attn.value<[S], f32>
  attn.write %new, %c[%s] : !attn.value<[S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>
  %r = attn.rename %old ["S"] as ["T"] : (!attn.value<[S], f32>) -> !attn.value<[T], f32>
  attn.write %r, %z[%t] : !attn.value<[T], f32>, !attn.ref<[T], f32>, !attn.value<[T], i64>
}
