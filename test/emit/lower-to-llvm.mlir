// RUN: attn-opt %s --attn-lower-to-llvm | FileCheck %s

// Users' tensors are aligned to elements, whatever the width of a vector.
// CHECK-LABEL: llvm.func @alignment
func.func @alignment(%p: !llvm.ptr, %q: !llvm.ptr) {
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
  %v = llvm.load %p : !llvm.ptr -> vector<8xf32>
  // CHECK: llvm.store %{{.*}} {alignment = 64 : i64} : vector<8xf32>
  llvm.store %v, %q {alignment = 64 : i64} : vector<8xf32>, !llvm.ptr
  // CHECK: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<8xi8>
  %b = llvm.load %p : !llvm.ptr -> vector<8xi8>
  llvm.store %b, %q : vector<8xi8>, !llvm.ptr
  return
}

// No library knows bf16.
// CHECK-LABEL: llvm.func @bf16
// CHECK-NOT: llvm.fptrunc
// CHECK-NOT: llvm.fpext
func.func @bf16(%x: vector<8xbf16>, %y: vector<8xf32>) -> (vector<8xf32>, vector<8xbf16>) {
  // CHECK: llvm.shl
  %w = arith.extf %x : vector<8xbf16> to vector<8xf32>
  %n = arith.truncf %y : vector<8xf32> to vector<8xbf16>
  // CHECK: llvm.return
  return %w, %n : vector<8xf32>, vector<8xbf16>
}

// A product and a sum stay two roundings unless the program joined them.
// CHECK-LABEL: llvm.func @contraction
func.func @contraction(%a: vector<8xf32>, %b: vector<8xf32>, %c: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>) {
  // CHECK: llvm.intr.fmuladd
  %0 = vector.fma %a, %b, %c : vector<8xf32>
  // CHECK: llvm.fmul %{{[^{]*}} : vector<8xf32>
  // CHECK: llvm.fadd %{{[^{]*}} : vector<8xf32>
  %1 = arith.mulf %a, %b : vector<8xf32>
  %2 = arith.addf %1, %c : vector<8xf32>
  return %0, %2 : vector<8xf32>, vector<8xf32>
}

// CHECK-LABEL: llvm.func @shapes
// CHECK-NOT: {{^ *(%[0-9]+ = )?}}vector.
func.func @shapes(%a: vector<16xf32>, %b: vector<8xf32>) -> f32 {
  %p = vector.extract_strided_slice %a {offsets = [4], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
  %t = vector.shuffle %p, %b [0, 8, 1, 9] : vector<8xf32>, vector<8xf32>
  %j = vector.interleave %t, %t : vector<4xf32> -> vector<8xf32>
  %r = vector.reduction <maximumf>, %j : vector<8xf32> into f32
  %i = vector.bitcast %b : vector<8xf32> to vector<8xi32>
  %f = arith.sitofp %i : vector<8xi32> to vector<8xf32>
  %e = vector.extract %f[3] : f32 from vector<8xf32>
  %c = vector.from_elements %e, %r : vector<2xf32>
  %d = vector.broadcast %e : f32 to vector<2xf32>
  %s = arith.addf %c, %d : vector<2xf32>
  %m = vector.extract %s[1] : f32 from vector<2xf32>
  // CHECK: llvm.return
  return %m : f32
}
