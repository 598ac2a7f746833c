// RUN: attn-opt %s --attn-lower-to-cpu | FileCheck %s

// The descriptor says what attn_bind checks. A factor D * 2 is code: axis 0, the number 2, multiply, end; so is
// D = x.0 / 2: dimension 0 of argument 0, 2, divide, end.
// CHECK-DAG: @k.{{[0-9]+}}(dense<[2, 0, 1, 2, 7, 0]>
// CHECK-DAG: @k.{{[0-9]+}}(dense<[3, 0, 0, 1, 2, 8, 0]>
// CHECK-DAG: llvm.mlir.global internal constant @k.descriptor()

// Sizes are checked for overflow and rounded up; the result is -1 when they do not fit.
// CHECK-LABEL: func.func private @k.layout(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> i64
// CHECK-DAG: %[[BAD:.*]] = arith.constant -1 : i64
// CHECK-DAG: %[[DOWN:.*]] = arith.constant -64 : i64
// CHECK: "llvm.intr.smul.with.overflow"
// CHECK: arith.andi %{{.*}}, %[[DOWN]]
// CHECK: call @k.scratch
// CHECK: %[[BYTES:.*]] = arith.select %{{.*}}, %[[BAD]], %{{.*}} : i64
// CHECK-NEXT: return %[[BYTES]]

// CHECK-LABEL: func.func @k(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i16, %arg3: !llvm.ptr) -> i32
// CHECK: call @attn_bind
// CHECK: scf.if
// CHECK: call @attn_workers
// CHECK: call @k.layout
// CHECK: call @attn_reserve
// CHECK: scf.if
// CHECK: call @attn_release
// CHECK-LABEL: func.func @k_workspace(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i16, %arg3: !llvm.ptr, %arg4: !llvm.ptr) -> i32
// CHECK-NOT: call @attn_reserve
// CHECK: call @attn_report_workspace
attn.kernel @k(in "x" %x : !attn.ref<[2 * D], f32>, in "p" %p : !attn.ref<[], bf16>, out "y" %y : !attn.ref<[D], f32>)
    axes [<D = x.0 / 2>] facts [] {
  %b = attn.buffer : !attn.ref<[D], f32>
}
