//===- Simplify.cpp - attn-simplify -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/optimize/Expressions.h"
#include "compiler/optimize/Passes.h"
#include "compiler/optimize/Substitute.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

#define DEBUG_TYPE "attn-simplify"

namespace attn {
#define GEN_PASS_DEF_SIMPLIFY
#include "compiler/optimize/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static void foldExtents(ProgramOp program) {
  llvm::StringMap<int64_t> known = knownExtents(Signature(program));
  program.walk([&](ExtentOp extent) {
    auto found = known.find(extent.getAxis());
    if (found == known.end())
      return;
    OpBuilder builder(extent);
    extent.replaceAllUsesWith(constantOf(builder, extent.getLoc(), builder.getI64IntegerAttr(found->second)));
    extent.erase();
  });
}

namespace {
/// A constant operand moves into the region, where arith folds it.
struct ConstantIntoMap : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < map.getInputs().size(); ++i) {
      auto constant = map.getInputs()[i].getDefiningOp<ConstantOp>();
      if (!constant)
        continue;
      Block &block = map.getBody().front();
      rewriter.setInsertionPointToStart(&block);
      Value scalar = arith::ConstantOp::create(rewriter, map.getLoc(), constant.getValue());
      rewriter.modifyOpInPlace(map, [&] {
        block.getArgument(i).replaceAllUsesWith(scalar);
        block.eraseArgument(i);
        map.getInputsMutable().erase(i);
      });
      return success();
    }
    return failure();
  }
};

struct MapOfNothing : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    TypedAttr value;
    Value yielded = cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0);
    if (!map.getInputs().empty() || !matchPattern(yielded, m_Constant(&value)))
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(map, map.getType(), value);
    return success();
  }
};

/// A map that gives back its only operand.
struct MapOfItself : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    Value yielded = cast<YieldOp>(map.getBody().front().getTerminator()).getOperand(0);
    if (map.getInputs().size() != 1 || yielded != map.getBody().front().getArgument(0))
      return failure();
    rewriter.replaceOp(map, map.getInputs()[0]);
    return success();
  }
};

/// MLIR folds the other functions of a constant, but not this one, which every scale needs.
struct RsqrtOfConstant : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op, PatternRewriter &rewriter) const override {
    FloatAttr number;
    if (!matchPattern(op.getOperand(), m_Constant(&number)))
      return failure();
    double value = 1 / std::sqrt(number.getValueAsDouble());
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, rewriter.getFloatAttr(op.getType(), value));
    return success();
  }
};

/// Known conditions in `and`, `or`, `where` and `select`, where the type stays what it is.
struct KnownCondition : RewritePattern {
  explicit KnownCondition(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    Value kept;
    if (isa<AndOp, OrOp>(op)) {
      for (unsigned i : {0, 1})
        if (known(op->getOperand(i)) == std::optional(isa<AndOp>(op)))
          kept = op->getOperand(1 - i);
    } else if (auto where = dyn_cast<WhereOp>(op)) {
      if (known(where.getCondition()) == std::optional(true))
        kept = where.getValue();
    } else if (auto select = dyn_cast<SelectOp>(op)) {
      if (std::optional<bool> condition = known(select.getCondition()))
        kept = *condition ? select.getOnTrue() : select.getOnFalse();
    }
    if (!kept || kept.getType() != op->getResult(0).getType())
      return failure();
    rewriter.replaceOp(op, kept);
    return success();
  }

  static std::optional<bool> known(Value condition) {
    auto constant = condition.getDefiningOp<ConstantOp>();
    auto truth = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
    return truth ? std::optional(!truth.getValue().isZero()) : std::nullopt;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static void markScores(Value value, llvm::DenseSet<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return;
  if (auto contract = dyn_cast<ContractOp>(op); contract && contract.getRole() == Role::Dot)
    contract.setRole(Role::Score);
  if (isPointwise(op))
    for (Value operand : op->getOperands())
      markScores(operand, seen);
}

static void markMixes(Value weights, ArrayRef<StringAttr> over, llvm::DenseSet<Operation *> &seen) {
  for (Operation *user : weights.getUsers()) {
    if (!seen.insert(user).second)
      continue;
    if (auto contract = dyn_cast<ContractOp>(user)) {
      if (contract.getRole() == Role::Dot && sameAxes(axisNames(contract.getOver()), over))
        contract.setRole(Role::Mix);
    } else if (isPointwise(user)) {
      markMixes(user->getResult(0), over, seen);
    }
  }
}

static void markRoles(ProgramOp program) {
  llvm::DenseSet<Operation *> seen;
  program.walk([&](Operation *op) {
    if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
      llvm::DenseSet<Operation *> readers;
      markMixes(softmax, axisNames(softmax.getOver()), readers);
      markScores(softmax.getValue(), seen);
    } else if (auto lse = dyn_cast<LogSumExpOp>(op)) {
      markScores(lse.getValue(), seen);
    }
  });
}

namespace {
struct Simplify : attn::impl::SimplifyBase<Simplify> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    foldExtents(program);
    sinkRenames(program);
    RewritePatternSet patterns(&getContext());
    patterns.add<ConstantIntoMap, MapOfNothing, MapOfItself, RsqrtOfConstant, KnownCondition>(&getContext());
    if (failed(applyPatternsGreedily(program, std::move(patterns))))
      return signalPassFailure();
    markRoles(program);
  }
};
} // namespace
