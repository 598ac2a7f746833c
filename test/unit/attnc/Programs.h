// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A context that parses programs, and programs that several tests use.
#ifndef ATTN_TEST_UNIT_ATTNC_PROGRAMS_H
#define ATTN_TEST_UNIT_ATTNC_PROGRAMS_H

#include "dialects/attn/Attn.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

struct Programs : testing::Test {
  Programs() { context.loadDialect<attn::AttnDialect, mlir::arith::ArithDialect>(); }

  attn::Signature parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return attn::Signature(&*module->getBody()->begin());
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A projection with four heads.
inline constexpr const char *layer = R"(
attn.program @layer(in "x" %x : !attn.ref<[B, S, D], f32>, in "wq" %wq : !attn.ref<[(H E), D], f32>,
                    out "y" %y : !attn.ref<[B, S, D], f32>)
    axes [<B = x.0>, <S = x.1>, <D = x.2>, <H = 4>, <E = wq.0 / H>, <T = S>] facts [<E = D / H>] {
}
)";

/// Causal scores and their mix.
inline constexpr const char *causal = R"(
attn.program @causal(in "q" %q : !attn.ref<[S, E], f32>, in "k" %k : !attn.ref<[T, E], f32>,
                     out "o" %o : !attn.ref<[S, E], f32>) axes [<S = q.0>, <E = q.1>, <T = k.0>] facts [] {
  %s = attn.index "S" : !attn.value<[S], i64>
  %t = attn.index "T" : !attn.value<[T], i64>
  %e = attn.index "E" : !attn.value<[E], i64>
  %0 = attn.read %q[%s, %e] : (!attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>) -> !attn.value<[E, S], f32>
  %1 = attn.read %k[%t, %e] : (!attn.ref<[T, E], f32>, !attn.value<[T], i64>, !attn.value<[E], i64>) -> !attn.value<[E, T], f32>
  %score = attn.contract score %0, %1 over ["E"] : (!attn.value<[E, S], f32>, !attn.value<[E, T], f32>) -> !attn.value<[S, T], f32>
  %mask = attn.map(%t, %s) : (!attn.value<[T], i64>, !attn.value<[S], i64>) -> !attn.value<[S, T], i1> {
  ^bb0(%a: i64, %b: i64):
    %c = arith.cmpi sle, %a, %b : i64
    attn.yield %c : i1
  }
  %masked = attn.where %score, %mask : (!attn.value<[S, T], f32>, !attn.value<[S, T], i1>) -> !attn.value<[S, T], f32>
  %p = attn.softmax %masked over ["T"] : (!attn.value<[S, T], f32>) -> !attn.value<[S, T], f32>
  %mix = attn.contract mix %p, %1 over ["T"] : (!attn.value<[S, T], f32>, !attn.value<[E, T], f32>) -> !attn.value<[E, S], f32>
  attn.write %mix, %o[%s, %e] : !attn.value<[E, S], f32>, !attn.ref<[S, E], f32>, !attn.value<[S], i64>, !attn.value<[E], i64>
}
)";

#endif // ATTN_TEST_UNIT_ATTNC_PROGRAMS_H
