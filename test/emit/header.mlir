// RUN: split-file %s %t
// RUN: emit-kernel header %t/good.mlir > %t/good.h && FileCheck %s --input-file=%t/good.h
// RUN: %clang -x c -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I%runtime_include -include %t/good.h /dev/null
// RUN: %clangxx -x c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I%runtime_include -include %t/good.h /dev/null
// RUN: not emit-kernel header %t/word.mlir 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not emit-kernel header %t/library.mlir 2>&1 | FileCheck %s --check-prefix=LIBRARY

// CHECK: /* Made by attnc from a_/b.attn. Declared here are the kernels of its object. */
// CHECK-NEXT: #ifndef ATTN_KERNELS_A__B_ATTN_H
// CHECK:       * paged(
// CHECK-NEXT:  *     context : bf16[B, (G E)],
// CHECK-NEXT:  *     inout class : f8e4m3[P, C + 4],
// CHECK:       * ) -> (
// CHECK-NEXT:  *     paged : f32
// CHECK-NEXT:  * )
// CHECK:       *     B = dimension 0 of context
// CHECK-NEXT:  *     G = 2
// CHECK-NEXT:  *     E = context.1 / G
// CHECK:       *     T depends on B
// CHECK:       * Must hold:
// CHECK-NEXT:  *     E = P * 2
// CHECK-NEXT:  *     P * / E <= C
// CHECK:       * Passed as their bits:
// CHECK-NEXT:  *     bytes (bf16)
// CHECK:      attn_status paged(attn_context *context, const DLTensor *context_,
// CHECK-NEXT:                   DLTensor *class_, uint16_t bytes_, bool on, int8_t n,
// CHECK-NEXT:                   const DLTensor *len, const DLTensor *tokens,
// CHECK-NEXT:                   DLTensor *paged_);
//--- good.mlir
attn.program @paged(in "context" %a : !attn.ref<[B, (G E)], bf16>, inout "class" %b : !attn.ref<[P, C + 4], f8E4M3FN>,
    in "bytes" %c : !attn.ref<[], bf16>, in "on" %d : !attn.ref<[], i1>, in "n" %e : !attn.ref<[], i8>,
    in "len" %f : !attn.ref<[B], i32>, in "tokens" %t : !attn.ref<[(B T)], ui8>, out "paged" %g : !attn.ref<[], f32>)
    axes [<B = context.0>, <G = 2>, <E = context.1 / G>, <P = class.0>, <C = class.1 - 4>, <T[B]>] facts [<E = P * 2>] {
  %x = attn.constant true : !attn.value<[], i1>
  attn.require %x, "P */ E <= C" : !attn.value<[], i1>
}
//--- word.mlir
attn.program @register(out "y" %y : !attn.ref<[], f32>) axes [] facts [] {
}
// WORD: emit-kernel: attention register: this is a word of C or C++; choose another name
//--- library.mlir
attn.program @memcpy(out "y" %y : !attn.ref<[], f32>) axes [] facts [] {
}
// LIBRARY: emit-kernel: attention memcpy: this is a function of the C library, which the program would lose; choose another name
