// RUN: attn-opt %s --attn-fuse --split-input-file | FileCheck %s

// The score's arithmetic and the mask go into the region, and the mask is a condition, never a number.
// CHECK-LABEL: attn.program @masked
attn.program @masked(in "q" %q : !attn.ref<[H, S, E], f32>, in "k" %k : !attn.ref<[H, T, E], f32>, in "v" %v : !attn.ref<[H, T, F], f32>, out "o" %o : !attn.ref<[H, S, F], f32>)
    axes [<H = q.0>, <S = q.1>, <E = q.2>, <T = k.1>, <F = v.2>] facts [] {
  %h = attn.index "H" : !attn.value<[H], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %qv = attn.read %q[%h, %s, %e] : (!attn.ref<[H, S, E], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[H, S, E], f32>
  %kv = attn.read %k[%h, %t, %e] : (!attn.ref<[H, T, E], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[H, T, E], f32>
  %vv = attn.read %v[%h, %t, %f] : (!attn.ref<[H, T, F], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[F], i64>) -> !attn.value<[H, T, F], f32>
  %score = attn.contract score %qv, %kv over ["E"] : (!attn.value<[H, S, E], f32>, !attn.value<[H, T, E], f32>) -> !attn.value<[H, S, T], f32>
  // CHECK-NOT: attn.softmax
  // CHECK-NOT: attn.contract
  // CHECK: %[[O:.*]] = attn.flash {{ *}}softmax queries(%[[Q:.*]]) keys(%[[K:.*]]) contracted {{\[\[}}"E"]] values(%[[V:.*]]) over ["T"] :
  // CHECK-SAME: -> !attn.value<[F, H, S], f32> {
  // CHECK-NEXT: ^bb0(%[[RAW:.*]]: !attn.value<[H, S, T], f32>):
  // CHECK: %[[X:.*]] = attn.map(%[[RAW]])
  // CHECK: %[[C:.*]] = attn.map(%{{.*}}, %{{.*}}) : {{.*}} -> !attn.value<[S, T], i1>
  // CHECK: attn.yield %[[X]], %[[C]]
  // CHECK: attn.write %[[O]]
  %x = attn.map(%score) : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32> {
  ^bb0(%a: f32):
    %c = math.tanh %a : f32
    attn.yield %c : f32
  }
  %seen = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
  ^bb0(%a: i64, %b: i64):
    %c = arith.cmpi sle, %a, %b : i64
    attn.yield %c : i1
  }
  %m = attn.where %x, %seen : (!attn.value<[H, S, T], f32>, !attn.value<[S, T], i1>) -> !attn.value<[H, S, T], f32>
  %w = attn.softmax %m over ["T"] : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32>
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[H, S, T], f32>, !attn.value<[H, T, F], f32>) -> !attn.value<[H, S, F], f32>
  attn.write %mix, %o[%h, %s, %f] : !attn.value<[H, S, F], f32>, !attn.ref<[H, S, F], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[F], i64>
}

// -----

// A mask under arithmetic, and one that selects -inf, are masks as well; `lse` is read before the mix.
// CHECK-LABEL: attn.program @hidden_masks
attn.program @hidden_masks(in "q" %q : !attn.ref<[H, S, E], f32>, in "k" %k : !attn.ref<[H, T, E], f32>, in "v" %v : !attn.ref<[H, T, F], f32>, out "o" %o : !attn.ref<[H, S, F], f32>, out "l" %l : !attn.ref<[H, S], f32>)
    axes [<H = q.0>, <S = q.1>, <E = q.2>, <T = k.1>, <F = v.2>] facts [] {
  %h = attn.index "H" : !attn.value<[H], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %qv = attn.read %q[%h, %s, %e] : (!attn.ref<[H, S, E], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[H, S, E], f32>
  %kv = attn.read %k[%h, %t, %e] : (!attn.ref<[H, T, E], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[H, T, E], f32>
  %vv = attn.read %v[%h, %t, %f] : (!attn.ref<[H, T, F], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[F], i64>) -> !attn.value<[H, T, F], f32>
  %score = attn.contract score %qv, %kv over ["E"] : (!attn.value<[H, S, E], f32>, !attn.value<[H, T, E], f32>) -> !attn.value<[H, S, T], f32>
  // CHECK: %[[O:.*]]:2 = attn.flash
  // CHECK-SAME: {logsumexp}
  // CHECK: attn.map(%{{.*}}) : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32>
  // CHECK-NOT: attn.where
  // CHECK-NOT: attn.select
  // CHECK: %[[BOTH:.*]] = attn.and
  // CHECK: attn.yield %{{.*}}, %[[BOTH]]
  // CHECK: attn.write %[[O]]#1, %l
  // CHECK: attn.write %[[O]]#0, %o
  %seen = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
  ^bb0(%a: i64, %b: i64):
    %c = arith.cmpi sle, %a, %b : i64
    attn.yield %c : i1
  }
  %late = attn.map(%t) : (!attn.value<[T], i64>) -> !attn.value<[T], i1> {
  ^bb0(%a: i64):
    %nine = arith.constant 9 : i64
    %c = arith.cmpi slt, %a, %nine : i64
    attn.yield %c : i1
  }
  %m = attn.where %score, %seen : (!attn.value<[H, S, T], f32>, !attn.value<[S, T], i1>) -> !attn.value<[H, S, T], f32>
  %x = attn.map(%m) : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32> {
  ^bb0(%a: f32):
    %c = math.tanh %a : f32
    attn.yield %c : f32
  }
  %ninf = attn.constant 0xFF800000 : f32 : !attn.value<[], f32>
  %y = attn.select %late, %x, %ninf : (!attn.value<[T], i1>, !attn.value<[H, S, T], f32>, !attn.value<[], f32>) -> !attn.value<[H, S, T], f32>
  %lse = attn.logsumexp %y over ["T"] : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S], f32>
  attn.write %lse, %l[%h, %s] : !attn.value<[H, S], f32>, !attn.ref<[H, S], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>
  %w = attn.softmax %y over ["T"] : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32>
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[H, S, T], f32>, !attn.value<[H, T, F], f32>) -> !attn.value<[H, S, F], f32>
  attn.write %mix, %o[%h, %s, %f] : !attn.value<[H, S, F], f32>, !attn.ref<[H, S, F], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[F], i64>
}

// -----

// Weights that are results are computed from the log-sum-exp; the mix is what it is without them.
// CHECK-LABEL: attn.program @weights_and_sink
attn.program @weights_and_sink(in "q" %q : !attn.ref<[H, S, E], f32>, in "k" %k : !attn.ref<[H, T, E], f32>, in "v" %v : !attn.ref<[H, T, F], f32>, in "z" %z : !attn.ref<[H], f32>, out "o" %o : !attn.ref<[H, S, F], f32>, out "p" %p : !attn.ref<[H, S, T], f32>)
    axes [<H = q.0>, <S = q.1>, <E = q.2>, <T = k.1>, <F = v.2>] facts [] {
  %h = attn.index "H" : !attn.value<[H], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %qv = attn.read %q[%h, %s, %e] : (!attn.ref<[H, S, E], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[H, S, E], f32>
  %kv = attn.read %k[%h, %t, %e] : (!attn.ref<[H, T, E], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[H, T, E], f32>
  %vv = attn.read %v[%h, %t, %f] : (!attn.ref<[H, T, F], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[F], i64>) -> !attn.value<[H, T, F], f32>
  %score = attn.contract score %qv, %kv over ["E"] : (!attn.value<[H, S, E], f32>, !attn.value<[H, T, E], f32>) -> !attn.value<[H, S, T], f32>
  // CHECK: %[[RAW:.*]] = attn.contract {{ *}}score
  // CHECK: %[[O:.*]]:2 = attn.flash {{.*}} sink %{{.*}} {logsumexp}
  // CHECK: %[[W:.*]] = attn.map(%[[RAW]], %[[O]]#1)
  // CHECK: math.exp
  // CHECK: %[[SEEN:.*]] = attn.where %[[W]], %
  // CHECK: attn.write %[[SEEN]], %p
  // CHECK: attn.write %[[O]]#0, %o
  %sink = attn.read %z[%h] : (!attn.ref<[H], f32>, !attn.value<[H], i64>) -> !attn.value<[H], f32>
  %w = attn.softmax %score over ["T"] sink %sink : (!attn.value<[H, S, T], f32>, !attn.value<[H], f32>) -> !attn.value<[H, S, T], f32>
  attn.write %w, %p[%h, %s, %t] : !attn.value<[H, S, T], f32>, !attn.ref<[H, S, T], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[T], i64>
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[H, S, T], f32>, !attn.value<[H, T, F], f32>) -> !attn.value<[H, S, F], f32>
  attn.write %mix, %o[%h, %s, %f] : !attn.value<[H, S, F], f32>, !attn.ref<[H, S, F], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[F], i64>
}

// -----

// Scores that are mixed as they are.
// CHECK-LABEL: attn.program @sigmoid
attn.program @sigmoid(in "q" %q : !attn.ref<[H, S, E], f32>, in "k" %k : !attn.ref<[H, T, E], f32>, in "v" %v : !attn.ref<[H, T, F], f32>, out "o" %o : !attn.ref<[H, S, F], f32>)
    axes [<H = q.0>, <S = q.1>, <E = q.2>, <T = k.1>, <F = v.2>] facts [] {
  %h = attn.index "H" : !attn.value<[H], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %qv = attn.read %q[%h, %s, %e] : (!attn.ref<[H, S, E], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[H, S, E], f32>
  %kv = attn.read %k[%h, %t, %e] : (!attn.ref<[H, T, E], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[H, T, E], f32>
  %vv = attn.read %v[%h, %t, %f] : (!attn.ref<[H, T, F], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[F], i64>) -> !attn.value<[H, T, F], f32>
  %score = attn.contract score %qv, %kv over ["E"] : (!attn.value<[H, S, E], f32>, !attn.value<[H, T, E], f32>) -> !attn.value<[H, S, T], f32>
  // CHECK-NOT: attn.contract
  // CHECK: attn.flash {{ *}}identity
  // CHECK: math.exp
  %seen = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
  ^bb0(%a: i64, %b: i64):
    %c = arith.cmpi sle, %a, %b : i64
    attn.yield %c : i1
  }
  %m = attn.where %score, %seen : (!attn.value<[H, S, T], f32>, !attn.value<[S, T], i1>) -> !attn.value<[H, S, T], f32>
  %w = attn.map(%m) : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32> {
  ^bb0(%a: f32):
    %c = math.exp %a : f32
    attn.yield %c : f32
  }
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[H, S, T], f32>, !attn.value<[H, T, F], f32>) -> !attn.value<[H, S, F], f32>
  attn.write %mix, %o[%h, %s, %f] : !attn.value<[H, S, F], f32>, !attn.ref<[H, S, F], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[F], i64>
}

// -----

// Two terms, and a bias over the keys that is read from outside.
// CHECK-LABEL: attn.program @two_terms_and_bias
attn.program @two_terms_and_bias(in "q" %q : !attn.ref<[H, S, E], f32>, in "k" %k : !attn.ref<[H, T, E], f32>, in "v" %v : !attn.ref<[H, T, F], f32>, in "r" %r : !attn.ref<[T, G], f32>, in "u" %u : !attn.ref<[S, G], f32>, in "d" %d : !attn.ref<[S, T], f32>, out "o" %o : !attn.ref<[H, S, F], f32>)
    axes [<H = q.0>, <S = q.1>, <E = q.2>, <T = k.1>, <F = v.2>, <G = r.1>] facts [] {
  %h = attn.index "H" : !attn.value<[H], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %qv = attn.read %q[%h, %s, %e] : (!attn.ref<[H, S, E], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[H, S, E], f32>
  %kv = attn.read %k[%h, %t, %e] : (!attn.ref<[H, T, E], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[H, T, E], f32>
  %vv = attn.read %v[%h, %t, %f] : (!attn.ref<[H, T, F], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[F], i64>) -> !attn.value<[H, T, F], f32>
  %score = attn.contract score %qv, %kv over ["E"] : (!attn.value<[H, S, E], f32>, !attn.value<[H, T, E], f32>) -> !attn.value<[H, S, T], f32>
  // CHECK: %[[D:.*]] = attn.read %d
  // CHECK: attn.flash {{ *}}softmax queries(%{{.*}}, %{{.*}}) keys(%{{.*}}, %{{.*}}) contracted {{\[\[}}"E"], ["G"]]
  // CHECK-NEXT: ^bb0(%[[A:.*]]: !attn.value<[H, S, T], f32>, %[[B:.*]]: !attn.value<[S, T], f32>):
  // CHECK-NEXT: attn.map(%[[A]], %[[B]], %[[D]])
  %g = attn.index "G" : !attn.value<[G], i64>
  %rv = attn.read %r[%t, %g] : (!attn.ref<[T, G], f32>, !attn.value<[T], i64>, !attn.value<[G], i64>) -> !attn.value<[G, T], f32>
  %uv = attn.read %u[%s, %g] : (!attn.ref<[S, G], f32>, !attn.value<[S], i64>, !attn.value<[G], i64>) -> !attn.value<[G, S], f32>
  %dv = attn.read %d[%s, %t] : (!attn.ref<[S, T], f32>, !attn.value<[S], i64>, !attn.value<[T], i64>) -> !attn.value<[S, T], f32>
  %two = attn.contract score %rv, %uv over ["G"] : (!attn.value<[G, T], f32>, !attn.value<[G, S], f32>) -> !attn.value<[S, T], f32>
  %x = attn.map(%score, %two, %dv) : (!attn.value<[H, S, T], f32>, !attn.value<[S, T], f32>, !attn.value<[S, T], f32>) -> !attn.value<[H, S, T], f32> {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %i = arith.addf %a, %b : f32
    %j = arith.addf %i, %c : f32
    attn.yield %j : f32
  }
  %w = attn.softmax %x over ["T"] : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32>
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[H, S, T], f32>, !attn.value<[H, T, F], f32>) -> !attn.value<[H, S, F], f32>
  attn.write %mix, %o[%h, %s, %f] : !attn.value<[H, S, F], f32>, !attn.ref<[H, S, F], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[F], i64>
}

// -----

// A factor of whole keys is multiplied into the score, whatever else the key computes; one per element stays.
// CHECK-LABEL: attn.program @scaled
attn.program @scaled(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], i8>, in "c" %c : !attn.ref<[T], f32>, in "d" %d : !attn.ref<[T, E], f32>, in "v" %v : !attn.ref<[T, F], f32>, out "o" %o : !attn.ref<[S, F], f32>, out "p" %p : !attn.ref<[S, F], f32>)
    axes [<S = q.0>, <E = q.1>, <T = k.0>, <F = v.1>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %kv = attn.read %k[%t, %e] : (!attn.ref<[T, E], i8>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], i64>
  %cv = attn.read %c[%t] : (!attn.ref<[T], f32>, !attn.value<[T], i64>) -> !attn.value<[T], f32>
  %dv = attn.read %d[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %vv = attn.read %v[%t, %f] : (!attn.ref<[T, F], f32>, !attn.value<[T], i64>, !attn.value<[F], i64>) -> !attn.value<[F, T], f32>
  // CHECK: %[[C:.*]] = attn.read %c
  // CHECK: %[[K:.*]] = attn.map(%{{[^,]*}}) : (!attn.value<[E, T], i64>) -> !attn.value<[E, T], f32>
  // CHECK: attn.flash {{.*}}keys(%[[K]])
  // CHECK-NEXT: ^bb0(%[[RAW:.*]]: !attn.value<[S, T], f32>):
  // CHECK: attn.map(%[[RAW]], %[[C]], %{{.*}})
  // The sum of nothing is 0, whatever the factor.
  // CHECK: %[[EMPTY:.*]] = arith.cmpi eq
  // CHECK: arith.select %[[EMPTY]]
  %key = attn.map(%kv, %cv) : (!attn.value<[E, T], i64>, !attn.value<[T], f32>) -> !attn.value<[E, T], f32> {
  ^bb0(%a: i64, %b: f32):
    %x = arith.sitofp %a : i64 to f32
    %y = arith.mulf %x, %b : f32
    attn.yield %y : f32
  }
  %score = attn.contract score %qv, %key over ["E"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>) -> !attn.value<[S, T], f32>
  %w = attn.softmax %score over ["T"] : (!attn.value<[S, T], f32>) -> !attn.value<[S, T], f32>
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[S, T], f32>, !attn.value<[F, T], f32>) -> !attn.value<[F, S], f32>
  attn.write %mix, %o[%s, %f] : !attn.value<[F, S], f32>, !attn.ref<[S, F], f32>, !attn.value<[S], i64>, !attn.value<[F], i64>
  // CHECK: %[[W:.*]] = attn.map(%{{.*}}, %{{.*}}) : (!attn.value<[E, T], i64>, !attn.value<[E, T], f32>)
  // CHECK: attn.flash {{.*}}keys(%[[W]])
  %whole = attn.map(%kv, %dv) : (!attn.value<[E, T], i64>, !attn.value<[E, T], f32>) -> !attn.value<[E, T], f32> {
  ^bb0(%a: i64, %b: f32):
    %x = arith.sitofp %a : i64 to f32
    %y = arith.mulf %x, %b : f32
    attn.yield %y : f32
  }
  %score2 = attn.contract score %qv, %whole over ["E"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>) -> !attn.value<[S, T], f32>
  %w2 = attn.softmax %score2 over ["T"] : (!attn.value<[S, T], f32>) -> !attn.value<[S, T], f32>
  %mix2 = attn.contract mix %w2, %vv over ["T"] : (!attn.value<[S, T], f32>, !attn.value<[F, T], f32>) -> !attn.value<[F, S], f32>
  attn.write %mix2, %p[%s, %f] : !attn.value<[F, S], f32>, !attn.ref<[S, F], f32>, !attn.value<[S], i64>, !attn.value<[F], i64>
}
