// RUN: attn-opt %s --attn-lower-to-cpu | FileCheck %s

// A register block of 2 rows by 3 vectors; the rows are read where they lie, the panel from scratch.

// CHECK-LABEL: func.func private @project.stage0(
// CHECK:         llvm.inttoptr
// CHECK:         vector.shuffle
// CHECK:         llvm.store %{{.*}}, %{{.*}} : vector<4xf32>, !llvm.ptr
// CHECK:         scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
// CHECK-COUNT-3:   llvm.load %{{.*}} : !llvm.ptr -> vector<4xf32>
// CHECK:           vector.broadcast %{{.*}} : f32 to vector<4xf32>
// CHECK-COUNT-3:   math.fma %{{.*}} : vector<4xf32>
// CHECK:           vector.broadcast %{{.*}} : f32 to vector<4xf32>
// CHECK-COUNT-3:   math.fma %{{.*}} : vector<4xf32>
// CHECK-NEXT:      scf.yield
attn.kernel @project(in "x" %x : !attn.ref<[S, 8], f32>, in "w" %w : !attn.ref<[12, 8], f32>,
                     out "y" %y : !attn.ref<[S, 12], f32>) axes [<S = x.0>, <K = 8>, <N = 12>] facts [] {
  attn.stage contract #attn.schedule<lanes = 4, vectors = 3, rows = 2, query_tile = 12, key_tile = 2, depth_tile = 64> {
    %s = attn.index "S" : !attn.value<[S], i64>
    %k = attn.index "K" : !attn.value<[K], i64>
    %n = attn.index "N" : !attn.value<[N], i64>
    %left = attn.read %x[%s, %k] : (!attn.ref<[S, 8], f32>, !attn.value<[S], i64>, !attn.value<[K], i64>) -> !attn.value<[K, S], f32>
    %right = attn.read %w[%n, %k] : (!attn.ref<[12, 8], f32>, !attn.value<[N], i64>, !attn.value<[K], i64>) -> !attn.value<[K, N], f32>
    %sum = attn.contract project %left, %right over ["K"] : (!attn.value<[K, S], f32>, !attn.value<[K, N], f32>) -> !attn.value<[N, S], f32>
    attn.write %sum, %y[%s, %n] : !attn.value<[N, S], f32>, !attn.ref<[S, 12], f32>, !attn.value<[S], i64>, !attn.value<[N], i64>
  }
}
