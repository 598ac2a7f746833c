// RUN: attn-opt %s --attn-decide=target=x86-64-v3 --split-input-file --verify-diagnostics

// A requirement is checked before anything runs.
attn.program @waits(in "x" %x : !attn.ref<[S], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %a = attn.read %x[%s] : (!attn.ref<[S], f32>, !attn.value<[S], i64>) -> !attn.value<[S], f32>
  %n = attn.reduce sum %a over ["S"] : (!attn.value<[S], f32>) -> !attn.value<[], f32>
  %c = attn.map(%n) : (!attn.value<[], f32>) -> !attn.value<[], i1> {
  ^bb0(%p: f32):
    %zero = arith.constant 0.0 : f32
    %q = arith.cmpf ogt, %p, %zero : f32
    attn.yield %q : i1
  }
  // expected-error @below {{a requirement or an extent cannot wait for a contraction, a reduction or a rotation}}
  attn.require %c, "sum(x) > 0" : !attn.value<[], i1>
  attn.write %a, %y[%s] : !attn.value<[S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>
}
