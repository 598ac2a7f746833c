// RUN: attn-opt %s --attn-fuse --split-input-file --verify-diagnostics -o /dev/null

// Weights that meet their sum behind the softmax.
attn.program @changed_weights(in "q" %q : !attn.ref<[H, S, E], f32>, in "k" %k : !attn.ref<[H, T, E], f32>, in "v" %v : !attn.ref<[H, T, F], f32>, out "o" %o : !attn.ref<[H, S, F], f32>)
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
  // expected-remark @below {{softmax over T is not fused, and its weights are stored: its weights are combined with each other before they are mixed; change them pair by pair, or the scores before the softmax, if that means the same}}
  %u = attn.softmax %score over ["T"] : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32>
  %most = attn.reduce max %u over ["T"] : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S], f32>
  %w = attn.map(%u, %most) : (!attn.value<[H, S, T], f32>, !attn.value<[H, S], f32>) -> !attn.value<[H, S, T], f32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.divf %a, %b : f32
    attn.yield %c : f32
  }
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[H, S, T], f32>, !attn.value<[H, T, F], f32>) -> !attn.value<[H, S, F], f32>
  attn.write %mix, %o[%h, %s, %f] : !attn.value<[H, S, F], f32>, !attn.ref<[H, S, F], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[F], i64>
}

// -----

// A softmax of something stored.
attn.program @merge(in "x" %x : !attn.ref<[N], f32>, in "v" %v : !attn.ref<[N, F], f32>, out "o" %o : !attn.ref<[F], f32>)
    axes [<N = x.0>, <F = v.1>] facts [] {
  %n = attn.index "N" : !attn.value<[N], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %a = attn.read %x[%n] : (!attn.ref<[N], f32>, !attn.value<[N], i64>) -> !attn.value<[N], f32>
  %b = attn.read %v[%n, %f] : (!attn.ref<[N, F], f32>, !attn.value<[N], i64>, !attn.value<[F], i64>) -> !attn.value<[N, F], f32>
  // expected-remark @below {{its scores are not a contraction of queries with keys}}
  %w = attn.softmax %a over ["N"] : (!attn.value<[N], f32>) -> !attn.value<[N], f32>
  %c = attn.contract mix %w, %b over ["N"] : (!attn.value<[N], f32>, !attn.value<[N, F], f32>) -> !attn.value<[F], f32>
  attn.write %c, %o[%f] : !attn.value<[F], f32>, !attn.ref<[F], f32>, !attn.value<[F], i64>
}

// -----

// Scores of several heads are combined before the softmax.
attn.program @talking_heads(in "q" %q : !attn.ref<[H, S, E], f32>, in "k" %k : !attn.ref<[H, T, E], f32>, in "v" %v : !attn.ref<[H, T, F], f32>, in "c" %c : !attn.ref<[H, G], f32>, out "o" %o : !attn.ref<[G, H, S, F], f32>)
    axes [<H = q.0>, <S = q.1>, <E = q.2>, <T = k.1>, <F = v.2>, <G = c.1>] facts [] {
  %h = attn.index "H" : !attn.value<[H], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %qv = attn.read %q[%h, %s, %e] : (!attn.ref<[H, S, E], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[H, S, E], f32>
  %kv = attn.read %k[%h, %t, %e] : (!attn.ref<[H, T, E], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[H, T, E], f32>
  %vv = attn.read %v[%h, %t, %f] : (!attn.ref<[H, T, F], f32>, !attn.value<[H], i64>, !attn.value<[T], i64>, !attn.value<[F], i64>) -> !attn.value<[H, T, F], f32>
  %score = attn.contract score %qv, %kv over ["E"] : (!attn.value<[H, S, E], f32>, !attn.value<[H, T, E], f32>) -> !attn.value<[H, S, T], f32>
  %g = attn.index "G" : !attn.value<[G], i64>
  %cv = attn.read %c[%h, %g] : (!attn.ref<[H, G], f32>, !attn.value<[H], i64>, !attn.value<[G], i64>) -> !attn.value<[H, G], f32>
  %x = attn.contract score %score, %cv over ["H"] : (!attn.value<[H, S, T], f32>, !attn.value<[H, G], f32>) -> !attn.value<[G, S, T], f32>
  // expected-remark @below {{softmax over T is not fused, and its weights are stored: a key has axis S, which neither its query nor the values have: scores are combined before the softmax}}
  %w = attn.softmax %x over ["T"] : (!attn.value<[G, S, T], f32>) -> !attn.value<[G, S, T], f32>
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[G, S, T], f32>, !attn.value<[H, T, F], f32>) -> !attn.value<[G, H, S, F], f32>
  attn.write %mix, %o[%g, %h, %s, %f] : !attn.value<[G, H, S, F], f32>, !attn.ref<[G, H, S, F], f32>, !attn.value<[G], i64>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[F], i64>
}

// -----

// All keys of all documents.
attn.program @documents(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[(B T), E], f32>, in "n" %n : !attn.ref<[B], i64>, out "o" %o : !attn.ref<[S, E], f32>)
    axes [<S = q.0>, <E = q.1>, <B = n.0>, <T[B]>] facts [] {
  %b = attn.index "B" : !attn.value<[B], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %size = attn.read %n[%b] : (!attn.ref<[B], i64>, !attn.value<[B], i64>) -> !attn.value<[B], i64>
  attn.ragged "T" = %size : !attn.value<[B], i64>
  %t = attn.index "T" : !attn.value<[B, T], i64>
  %qv = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S, E], f32>
  %kv = attn.read %k[%b, %t, %e] : (!attn.ref<[(B T), E], f32>, !attn.value<[B], i64>, !attn.value<[B, T], i64>, !attn.value<[E], i64>) -> !attn.value<[B, T, E], f32>
  %score = attn.contract score %qv, %kv over ["E"] : (!attn.value<[S, E], f32>, !attn.value<[B, T, E], f32>) -> !attn.value<[B, S, T], f32>
  // expected-remark @below {{softmax over B T is not fused, and its weights are stored: the ragged axis T has no one length in a pass over the keys; attend along T alone}}
  %w = attn.softmax %score over ["B", "T"] : (!attn.value<[B, S, T], f32>) -> !attn.value<[B, S, T], f32>
  %mix = attn.contract mix %w, %kv over ["B", "T"] : (!attn.value<[B, S, T], f32>, !attn.value<[B, T, E], f32>) -> !attn.value<[S, E], f32>
  attn.write %mix, %o[%s, %e] : !attn.value<[S, E], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// Weights alone.
attn.program @weights_alone(in "q" %q : !attn.ref<[H, S, E], f32>, in "k" %k : !attn.ref<[H, T, E], f32>, in "v" %v : !attn.ref<[H, T, F], f32>, out "p" %p : !attn.ref<[H, S, T], f32>)
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
  // expected-remark @below {{its weights are not mixed with values}}
  %w = attn.softmax %score over ["T"] : (!attn.value<[H, S, T], f32>) -> !attn.value<[H, S, T], f32>
  attn.write %w, %p[%h, %s, %t] : !attn.value<[H, S, T], f32>, !attn.ref<[H, S, T], f32>, !attn.value<[H], i64>, !attn.value<[S], i64>, !attn.value<[T], i64>
}

// -----

// One dot over two axes, and values with two axes of their own.
attn.program @two_widths(in "q" %q : !attn.ref<[S, H, E], f32>, in "k" %k : !attn.ref<[T, H, E], f32>, in "v" %v : !attn.ref<[T, F, P], f32>, out "o" %o : !attn.ref<[S, F, P], f32>)
    axes [<S = q.0>, <H = q.1>, <E = q.2>, <T = k.0>, <F = v.1>, <P = v.2>] facts [] {
  %h = attn.index "H" : !attn.value<[H], i64>
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %p = attn.index "P" : !attn.value<[P], i64>
  %qv = attn.read %q[%s, %h, %e] : (!attn.ref<[S, H, E], f32>, !attn.value<[S], i64>, !attn.value<[H], i64>, !attn.value<[E], i64>) -> !attn.value<[S, H, E], f32>
  %kv = attn.read %k[%t, %h, %e] : (!attn.ref<[T, H, E], f32>, !attn.value<[T], i64>, !attn.value<[H], i64>, !attn.value<[E], i64>) -> !attn.value<[H, E, T], f32>
  %vv = attn.read %v[%t, %f, %p] : (!attn.ref<[T, F, P], f32>, !attn.value<[T], i64>, !attn.value<[F], i64>, !attn.value<[P], i64>) -> !attn.value<[T, F, P], f32>
  %score = attn.contract score %qv, %kv over ["H", "E"] : (!attn.value<[S, H, E], f32>, !attn.value<[H, E, T], f32>) -> !attn.value<[S, T], f32>
  // expected-remark @below {{a score contracts the axes H E, and a fused pass contracts one; declare them as one axis}}
  %w = attn.softmax %score over ["T"] : (!attn.value<[S, T], f32>) -> !attn.value<[S, T], f32>
  %mix = attn.contract mix %w, %vv over ["T"] : (!attn.value<[S, T], f32>, !attn.value<[T, F, P], f32>) -> !attn.value<[S, F, P], f32>
  attn.write %mix, %o[%s, %f, %p] : !attn.value<[S, F, P], f32>, !attn.ref<[S, F, P], f32>, !attn.value<[S], i64>, !attn.value<[F], i64>, !attn.value<[P], i64>
}
