// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Poison goes exactly where nothing shows it.
#include "dialects/reference/Poison.h"
#include "Programs.h"
#include <cmath>

using namespace attn::reference;

static const char kText[] = R"(
  attn.program @p(in "x" %x : !attn.ref<[S], f32>, in "len" %len : !attn.ref<[], i64>,
                  inout "cache" %cache : !attn.ref<[S], f32>, out "y" %y : !attn.ref<[], f32>)
      axes [<S = x.0>] facts [] {
    %s = attn.index "S" : ~S:i64~
    %n = attn.read %len[] : (!attn.ref<[], i64>) -> ~:i64~
    %c = attn.map(%s, %n) : (~S:i64~, ~:i64~) -> ~S:i1~ {
    ^bb0(%a: i64, %b: i64):
      %r = arith.cmpi slt, %a, %b : i64
      attn.yield %r : i1
    }
    %v = attn.read %x[%s] : (!attn.ref<[S], f32>, ~S:i64~) -> ~S~
    %m = attn.where %v, %c : (~S~, ~S:i1~) -> ~S~
    %sum = attn.reduce sum %m over ["S"] : (~S~) -> ~~
    attn.write %sum, %y[] : ~~, !attn.ref<[], f32>
    attn.write %v, %cache[%s] where %c : ~S~, !attn.ref<[S], f32>, ~S:i64~, ~S:i1~
  })";

TEST(Poison, FillsWhatHasNoEffectAndNothingElse) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect>();
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(expand(kText), &context);
  ASSERT_TRUE(module);
  mlir::Operation *program = &module->getBody()->front();
  Arguments arguments = {{"x", numbers({5}, {1, 2, 3, 4, 5})},
                         {"len", integers({}, {3})},
                         {"cache", numbers({5}, {6, 6, 6, 6, 6})}};
  Results clean = llvm::cantFail(interpret(program, arguments));
  Poisoned poisoned = poisonAbsent(program, arguments, clean);
  // x past the length; the cache anywhere: before it is overwritten, after it
  // is left alone.
  EXPECT_EQ(poisoned.elements, 2 + 5);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(std::isfinite(poisoned.arguments["x"].number(i)), i < 3) << i;
    EXPECT_FALSE(std::isfinite(poisoned.arguments["cache"].number(i))) << i;
    EXPECT_EQ(std::isfinite(poisoned.expected["cache"].value[i]), i < 3) << i;
  }
  EXPECT_EQ(poisoned.expected["y"].value[0], 6);
}
