// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each constraint of AttnOps.td, by its id, broken once.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// program_c1
// expected-error @below {{argument 0 is not a ref}}
attn.program @program_c1(in "x" %x : f32) axes [] facts [] {
}

// -----

// program_c2 axis
// expected-error @below {{axis E: 'D' is not an earlier axis or a dimension}}
attn.program @program_c2_axis(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = D>] facts [] {
}

// -----

// program_c2 dimension
// expected-error @below {{axis E: 'x.2' is not an earlier axis or a dimension}}
attn.program @program_c2_dimension(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.2>] facts [] {
}

// -----

// program_c2 twice
// expected-error @below {{axis S is declared twice}}
attn.program @program_c2_twice(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <S = x.1>] facts [] {
}

// -----

// program_c3
attn.program @program_c3(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  // expected-error @below {{axis Z is not declared by the program}}
  %z = attn.index "Z" : !attn.value<[Z], i64>
}

// -----

// constant_c1
attn.program @constant_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  // expected-error @below {{the number is 'f32', the element 'i64'}}
  %k = attn.constant 1.0 : f32 : !attn.value<[], i64>
}

// -----

// read_c1
attn.program @read_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{expects 2 indices, has 1}}
  %r = attn.read %x[%s] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>) -> !attn.value<[S], f32>
}

// -----

// read_c2
attn.program @read_c2(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %c = attn.constant true : !attn.value<[], i1>
  %f = attn.constant 1.0 : f32 : !attn.value<[], f32>
  // expected-error @below {{an index is an i64 value}}
  %r = attn.read %x[%s, %f] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[], f32>) -> !attn.value<[S], f32>
}

// -----

// read_c3
attn.program @read_c3(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{result has axes [S], expected [E, S]}}
  %r = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[S], f32>
}

// -----

// map_c1
attn.program @map_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{result has axes [S], expected [E, S]}}
  %r = attn.map(%v) : (!attn.value<[E, S], f32>) -> !attn.value<[S], f32> {
  ^bb0(%a : f32):
    attn.yield %a : f32
  }
}

// -----

// where_c1
attn.program @where_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %c = attn.constant true : !attn.value<[], i1>
  %f = attn.constant 1.0 : f32 : !attn.value<[], f32>
  // expected-error @below {{result has axes [E, S, T], expected [E, S]}}
  %r = attn.where %v, %c : (!attn.value<[E, S], f32>, !attn.value<[], i1>) -> !attn.value<[E, S, T], f32>
}

// -----

// take_c1
attn.program @take_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the value has no axis T}}
  %r = attn.take %v ["T"][%s] : (!attn.value<[E, S], f32>, !attn.value<[S], i64>) -> !attn.value<[E, S], f32>
}

// -----

// take_c2
attn.program @take_c2(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %c = attn.constant true : !attn.value<[], i1>
  %f = attn.constant 1.0 : f32 : !attn.value<[], f32>
  // expected-error @below {{an index is an i64 value}}
  %r = attn.take %v ["E"][%f] : (!attn.value<[E, S], f32>, !attn.value<[], f32>) -> !attn.value<[S], f32>
}

// -----

// take_c3
attn.program @take_c3(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  // expected-error @below {{result has axes [S], expected [S, T]}}
  %r = attn.take %v ["E"][%t] : (!attn.value<[E, S], f32>, !attn.value<[T], i64>) -> !attn.value<[S], f32>
}

// -----

// rename_c1 from
attn.program @rename_c1_from(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the value has no axis T}}
  %r = attn.rename %v ["T"] as ["S"] : (!attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// rename_c1 to
attn.program @rename_c1_to(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the value already has axis E}}
  %r = attn.rename %v ["S"] as ["E"] : (!attn.value<[E, S], f32>) -> !attn.value<[E], f32>
}

// -----

// contract_c1
attn.program @contract_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the right side has no axis E}}
  %r = attn.contract dot %v, %s over ["E"] : (!attn.value<[E, S], f32>, !attn.value<[S], i64>) -> !attn.value<[S], f32>
}

// -----

// contract_c2
attn.program @contract_c2(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{result has axes [E, S], expected [S]}}
  %r = attn.contract dot %v, %v over ["E"] : (!attn.value<[E, S], f32>, !attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// reduce_c1
attn.program @reduce_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the value has no axis T}}
  %r = attn.reduce sum %v over ["T"] : (!attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// reduce_c2
attn.program @reduce_c2(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{result has axes [E, S], expected [S]}}
  %r = attn.reduce sum %v over ["E"] : (!attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// softmax_c1
attn.program @softmax_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the value has no axis T}}
  %r = attn.softmax %v over ["T"] : (!attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// softmax_c2
attn.program @softmax_c2(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the sink has axis E, which a row does not have}}
  %r = attn.softmax %v over ["E"] sink %v : (!attn.value<[E, S], f32>, !attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// softmax_c3
attn.program @softmax_c3(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{result has axes [S], expected [E, S]}}
  %r = attn.softmax %v over ["E"] : (!attn.value<[E, S], f32>) -> !attn.value<[S], f32>
}

// -----

// rope_c1
attn.program @rope_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the value has no axis T}}
  %r = attn.rope half %v cos %v sin %v over "T" by "S" : (!attn.value<[E, S], f32>, !attn.value<[E, S], f32>, !attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// rope_c2 angle
attn.program @rope_c2_angle(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the cosine has no axis T}}
  %r = attn.rope half %v cos %v sin %v over "E" by "T" : (!attn.value<[E, S], f32>, !attn.value<[E, S], f32>, !attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// rope_c2 value
attn.program @rope_c2_value(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the value already has axis S}}
  %r = attn.rope half %v cos %v sin %v over "E" by "S" : (!attn.value<[E, S], f32>, !attn.value<[E, S], f32>, !attn.value<[E, S], f32>) -> !attn.value<[E, S], f32>
}

// -----

// rope_c3
attn.program @rope_c3(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %w = attn.map(%t) : (!attn.value<[T], i64>) -> !attn.value<[T], f32> {
  ^bb0(%a : i64):
    %0 = arith.sitofp %a : i64 to f32
    attn.yield %0 : f32
  }
  // expected-error @below {{result has axes [E, S, T], expected [E, S]}}
  %r = attn.rope half %v cos %w sin %w over "E" by "T" : (!attn.value<[E, S], f32>, !attn.value<[T], f32>, !attn.value<[T], f32>) -> !attn.value<[E, S, T], f32>
}

// -----

// write_c1
attn.program @write_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{expects 1 indices, has 2}}
  attn.write %v, %y[%s, %e] : !attn.value<[E, S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}

// -----

// write_c2
attn.program @write_c2(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  // expected-error @below {{the place has no axis E}}
  attn.write %v, %y[%s] : !attn.value<[E, S], f32>, !attn.ref<[S], f32>, !attn.value<[S], i64>
}

// -----

// flash_c1
attn.program @flash_c1(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{contracted axis I is missing on one side}}
  %r = attn.flash softmax queries(%v) keys(%k) contracted [["I"]] values(%u) over ["T"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>) -> !attn.value<[I, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>):
    attn.yield %raw : !attn.value<[S, T], f32>
  }
}

// -----

// flash_c2
attn.program @flash_c2(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{the score is a float value}}
  %r = attn.flash softmax queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>) -> !attn.value<[I, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>):
    attn.yield %s : !attn.value<[S], i64>
  }
}

// -----

// flash_c3 bound
attn.program @flash_c3_bound(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{a bound is an i64 value}}
  %r = attn.flash softmax queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] lower(%v) : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>, !attn.value<[E, S], f32>) -> !attn.value<[I, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>):
    attn.yield %raw : !attn.value<[S, T], f32>
  }
}

// -----

// flash_c3 key axis
attn.program @flash_c3_key_axis(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{bounds and sink lack the key axis T}}
  %r = attn.flash softmax queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] upper(%t) : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>, !attn.value<[T], i64>) -> !attn.value<[I, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>):
    attn.yield %raw : !attn.value<[S, T], f32>
  }
}

// -----

// flash_c4 mix
attn.program @flash_c4_mix(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{a mix has the axes of score and value without the key axes}}
  %r = attn.flash softmax queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>) -> !attn.value<[E, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>):
    attn.yield %raw : !attn.value<[S, T], f32>
  }
}

// -----

// flash_c4 log-sum-exp
attn.program @flash_c4_log_sum_exp(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{the log-sum-exp has the score's axes without the key axes}}
  %r:2 = attn.flash softmax queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] {logsumexp} : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>) -> (!attn.value<[I, S], f32>, !attn.value<[E, S], f32>) {
  ^bb0(%raw : !attn.value<[S, T], f32>):
    attn.yield %raw : !attn.value<[S, T], f32>
  }
}

// -----

// flash_c5 pairs
attn.program @flash_c5_pairs(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{a range of keys has a lower and an upper bound}}
  %r = attn.flash softmax queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] lower(%s, %s) upper(%s) : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>) -> !attn.value<[I, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>):
    attn.yield %raw : !attn.value<[S, T], f32>
  }
}

// -----

// flash_c5 most
attn.program @flash_c5_most(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{has more than 8 ranges of keys}}
  %r = attn.flash softmax queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] upper(%s, %s, %s, %s, %s, %s, %s, %s, %s) : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>, !attn.value<[S], i64>) -> !attn.value<[I, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>):
    attn.yield %raw : !attn.value<[S, T], f32>
  }
}

// -----
// flash_c6 normaliser
attn.program @flash_c6_normaliser(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{only weights of a softmax are changed}}
  %r = attn.flash identity queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>) -> !attn.value<[I, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>, %weight : !attn.value<[S, T], f32>):
    attn.yield %raw, %weight : !attn.value<[S, T], f32>, !attn.value<[S, T], f32>
  }
}

// -----
// flash_c6 type
attn.program @flash_c6_type(in "x" %x : !attn.ref<[S, E], f32>, out "y" %y : !attn.ref<[S], f32>) axes [<S = x.0>, <E = x.1>, <T = S>, <I = E>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %v = attn.read %x[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %t = attn.index "T" : !attn.value<[T], i64>
  %i = attn.index "I" : !attn.value<[I], i64>
  %k = attn.read %x[%t, %e] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %u = attn.read %x[%t, %i] : (!attn.ref<[S, E], f32>, !attn.value<[T], i64>, !attn.value<[I], i64>) -> !attn.value<[I, T], f32>
  // expected-error @below {{a weight has the type of the score, changed or not}}
  %r = attn.flash softmax queries(%v) keys(%k) contracted [["E"]] values(%u) over ["T"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>, !attn.value<[I, T], f32>) -> !attn.value<[I, S], f32> {
  ^bb0(%raw : !attn.value<[S, T], f32>, %weight : !attn.value<[T], f32>):
    attn.yield %raw, %weight : !attn.value<[S, T], f32>, !attn.value<[T], f32>
  }
}
