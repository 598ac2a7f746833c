// RUN: attn-opt %s --attn-lower-to-cpu --split-input-file --verify-diagnostics

attn.kernel @dots(in "x" %x : !attn.ref<[S, K], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <K = x.1>] facts [] {
  // expected-remark @below {{this contraction is computed point by point: no side has an axis of its own}}
  attn.stage contract #attn.schedule<lanes = 4, vectors = 1, rows = 2, query_tile = 4, key_tile = 2, depth_tile = 64> {
    %s = attn.index "S" : !attn.value<[S], i64>
    %k = attn.index "K" : !attn.value<[K], i64>
    // expected-remark @below {{elements of x are gathered one by one: vectors run along S, which is not its last dimension; store x with S last}}
    %v = attn.read %x[%s, %k] : (!attn.ref<[S, K], f32>, !attn.value<[S], i64>, !attn.value<[K], i64>) -> !attn.value<[K, S], f32>
    %sum = attn.contract dot %v, %v over ["K"] : (!attn.value<[K, S], f32>, !attn.value<[K, S], f32>) -> !attn.value<[S], f32>
    attn.write %sum, %y[%s] : !attn.value<[S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>
  }
}
