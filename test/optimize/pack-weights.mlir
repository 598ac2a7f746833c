// RUN: attn-opt %s --attn-pack-weights="weights=w" --split-input-file --verify-diagnostics | FileCheck %s

// Columns move into panels; extents that spoke of the old dimensions speak of the new ones.
// CHECK: attn.program @projection(in "x" {{.*}}, in "w" %w: !attn.ref<[C / 16, D, 16], f32>
// CHECK-SAME: axes [<B = x.0>, <C = w.0 * 16>, <D = w.1>]
// CHECK: %[[C:.*]] = attn.index "C"
// CHECK: %[[PANEL:.*]] = attn.map(%[[C]])
// CHECK: arith.floordivsi
// CHECK: %[[LANE:.*]] = attn.map(%[[C]])
// CHECK: arith.subi
// CHECK: attn.read %w[%[[PANEL]], %{{.*}}, %[[LANE]]]
attn.program @projection(in "x" %x : !attn.ref<[B, D], f32>, in "w" %w : !attn.ref<[C, D], f32>, out "y" %y : !attn.ref<[B, C], f32>)
    axes [<B = x.0>, <C = w.0>, <D = w.1>] facts [] {
  %b = attn.index "B" : !attn.value<[B], i64>
  %c = attn.index "C" : !attn.value<[C], i64>
  %d = attn.index "D" : !attn.value<[D], i64>
  %0 = attn.read %x[%b, %d] : (!attn.ref<[B, D], f32>, !attn.value<[B], i64>, !attn.value<[D], i64>) -> !attn.value<[B, D], f32>
  %1 = attn.read %w[%c, %d] : (!attn.ref<[C, D], f32>, !attn.value<[C], i64>, !attn.value<[D], i64>) -> !attn.value<[C, D], f32>
  %2 = attn.contract project %0, %1 over ["D"] : (!attn.value<[B, D], f32>, !attn.value<[C, D], f32>) -> !attn.value<[B, C], f32>
  attn.write %2, %y[%b, %c] : !attn.value<[B, C], f32>, !attn.ref<[B, C], f32>, !attn.value<[B], i64>, !attn.value<[C], i64>
}

// -----

attn.program @beside(in "w" %w : !attn.ref<[C], f32>, out "y" %y : !attn.ref<[C], f32>) axes [<C = w.0>] facts [] {
  %c = attn.index "C" : !attn.value<[C], i64>
  %0 = attn.read %w[%c] : (!attn.ref<[C], f32>, !attn.value<[C], i64>) -> !attn.value<[C], f32>
  // expected-error @below {{'w' of beside cannot be packed: this uses it beside a product}}
  attn.write %0, %y[%c] : !attn.value<[C], f32>, !attn.ref<[C], f32>, !attn.value<[C], i64>
}

// -----

// expected-error @below {{'w' of narrow cannot be packed: only f32 parameters are packed}}
attn.program @narrow(in "w" %w : !attn.ref<[C], bf16>, out "y" %y : !attn.ref<[C], f32>) axes [<C = w.0>] facts [] {
}
