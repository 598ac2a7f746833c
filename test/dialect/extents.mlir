// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text that is no extent, no axis, no value.
// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected valid keyword}}
func.func private @a(!attn.ref<[S +], f32>)

// -----

// expected-error @below {{a value's element is f32, f64, i64 or i1, not 'i32'}}
func.func private @b(!attn.value<[S], i32>)

// -----

// expected-error @below {{expected in, inout or out}}
attn.program @c(into "x" %x : !attn.ref<[S], f32>) axes [<S = x.0>] facts [] {
}
