// Schedules that are given: for one stage by name, for all of a kind; refused with the reason.
// RUN: attn-opt %s --attn-decide="target=x86-64-v3 schedule='[{kind: contract, name: p, depth_tile: 32}, {kind: contract, key_tile: 12}]'" | FileCheck %s
// RUN: not attn-opt %s --attn-decide="target=x86-64-v3 schedule='[{kind: contract, key_tile: 100}]'" 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not attn-opt %s --attn-decide="target=x86-64-v3 schedule='[{kind: contract, name: q}]'" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not attn-opt %s --attn-decide="target=x86-64-v3 schedule='[{kind: contract, tile: 3}]'" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not attn-opt %s --attn-decide=target=x86-64-v9 2>&1 | FileCheck %s --check-prefix=TARGET

// CHECK: contract <lanes = 8, vectors = 2, rows = 6, query_tile = 16, key_tile = 192, depth_tile = 32> attributes {name = "p"}
// CHECK: contract <lanes = 8, vectors = 2, rows = 6, query_tile = 16, key_tile = 12, depth_tile = 2048> attributes {name = "y"}
// TILE: schedule.mlir:27:3: error: the schedule of stage 'p' (contract) of two cannot work: key_tile 100 is not a multiple of rows = 6
// NAME: error: no stage is meant by the schedule for kind contract, name 'q'; there are two's contract 'p', two's contract 'y'
// KEY: error: schedule: line 1: unknown key 'tile'
// TARGET: error: no target is called 'x86-64-v9'; there are host, x86-64-v3, x86-64-v4, x86-64-amx, aarch64, cuda:sm_80, cuda:sm_90, cuda:sm_100, cuda:sm_120
attn.program @two(in "x" %x : !attn.ref<[S, D], f32>, in "w" %w : !attn.ref<[E, D], f32>, in "v" %v : !attn.ref<[F, E], f32>, out "y" %y : !attn.ref<[S, F], f32>)
    axes [<S = x.0>, <D = x.1>, <E = w.0>, <F = v.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %d = attn.index "D" : !attn.value<[D], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %f = attn.index "F" : !attn.value<[F], i64>
  %a = attn.read %x[%s, %d] : (!attn.ref<[S, D], f32>, !attn.value<[S], i64>, !attn.value<[D], i64>) -> !attn.value<[S, D], f32>
  %b = attn.read %w[%e, %d] : (!attn.ref<[E, D], f32>, !attn.value<[E], i64>, !attn.value<[D], i64>) -> !attn.value<[E, D], f32>
  %g = attn.read %v[%f, %e] : (!attn.ref<[F, E], f32>, !attn.value<[F], i64>, !attn.value<[E], i64>) -> !attn.value<[F, E], f32>
  %c = attn.contract project %a, %b over ["D"] : (!attn.value<[S, D], f32>, !attn.value<[E, D], f32>) -> !attn.value<[S, E], f32> loc("p"("schedule.mlir":27:3))
  %h = attn.contract project %c, %g over ["E"] : (!attn.value<[S, E], f32>, !attn.value<[F, E], f32>) -> !attn.value<[S, F], f32>
  attn.write %h, %y[%s, %f] : !attn.value<[S, F], f32>, !attn.ref<[S, F], f32>, !attn.value<[S], i64>, !attn.value<[F], i64>
}
