//===- Fuse.cpp - attn-fuse -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/Remarks.h"
#include "compiler/optimize/FuseSupport.h"
#include "compiler/optimize/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include <limits>

#define DEBUG_TYPE "attn-fuse"

namespace attn {
#define GEN_PASS_DEF_FUSE
#include "compiler/optimize/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static std::string counted(size_t number, StringRef what) {
  return std::to_string(number) + " " + what.str() + (number == 1 ? "" : what.ends_with("x") ? "es" : "s");
}

/// The operand of `contract` that is not `side`.
static Value otherSide(ContractOp contract, Value side) {
  return contract.getLhs() == side ? contract.getRhs() : contract.getLhs();
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

namespace {
class SoftmaxFusion {
public:
  explicit SoftmaxFusion(SoftmaxOp softmax) : softmax(softmax), over(axisNames(softmax.getOver())) {}

  /// Fuses, or says why not.
  void run() {
    OpBuilder builder(softmax);
    factorKeyScales(softmax.getValue(), over);
    Presence score = splitScore(builder, softmax.getValue());
    dropRepeatedMask(score.condition);
    SmallVector<ScoreTerm> terms = findTerms(score.value, over);
    if (terms.empty())
      return missed({"its scores are not a contraction of queries with keys", ""});
    SmallVector<ContractOp> mixes = findMixes();
    if (mixes.empty())
      return missed(whyNotMixed());
    SmallVector<Value> values = llvm::map_to_vector(mixes, [&](ContractOp mix) { return otherSide(mix, softmax); });
    if (Obstacle obstacle = findObstacle(terms, over, values))
      return missed(obstacle);
    fuse(score, mixes, values);
  }

private:
  void missed(const Obstacle &obstacle) {
    remarkMissed(softmax.getLoc(), "softmax over " + listed(over) + " is not fused, and its weights are stored",
                 obstacle.why, obstacle.advice);
  }

  Obstacle whyNotMixed() {
    if (softmax->use_empty())
      return {"nothing reads its weights", ""};
    if (mixedLater())
      return {"its weights are changed before they are mixed",
              "change the scores before the softmax or the values behind it, if that means the same"};
    return {"its weights are not mixed with values", ""};
  }

  /// The same mask again on the weights changes nothing.
  void dropRepeatedMask(Value mask) {
    for (Operation *user : llvm::make_early_inc_range(softmax->getUsers()))
      if (auto where = dyn_cast<WhereOp>(user); where && where.getValue() == softmax.getResult() &&
                                                impliesConjunct(mask, where.getCondition()) &&
                                                where.getType() == softmax.getType()) {
        where.replaceAllUsesWith(softmax.getResult());
        where.erase();
      }
  }

  SmallVector<ContractOp> findMixes() {
    SmallVector<ContractOp> mixes;
    for (Operation *user : softmax->getUsers())
      if (auto mix = dyn_cast<ContractOp>(user))
        if (sameAxes(axisNames(mix.getOver()), over) && otherSide(mix, softmax) != softmax.getResult())
          mixes.push_back(mix);
    llvm::sort(mixes, [](ContractOp a, ContractOp b) { return a->isBeforeInBlock(b); });
    // What is fused stands at the first mix: a value that comes later has to do without.
    llvm::erase_if(mixes, [&](ContractOp mix) {
      Operation *value = otherSide(mix, softmax).getDefiningOp();
      return value && !value->isBeforeInBlock(mixes.front());
    });
    return mixes;
  }

  /// Whether something computed from the weights is contracted over the keys.
  bool mixedLater() {
    SmallVector<Operation *> work(softmax->getUsers());
    llvm::DenseSet<Operation *> seen;
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      auto contract = dyn_cast<ContractOp>(op);
      if (contract && llvm::is_contained(axisNames(contract.getOver()), over.front()))
        return true;
      for (Value result : op->getResults())
        llvm::append_range(work, result.getUsers());
    }
    return false;
  }

  SmallVector<LogSumExpOp> findLogSumExps() {
    SmallVector<LogSumExpOp> found;
    for (Operation *user : softmax.getValue().getUsers())
      if (auto lse = dyn_cast<LogSumExpOp>(user))
        if (lse.getSink() == softmax.getSink() && sameAxes(axisNames(lse.getOver()), over))
          found.push_back(lse);
    return found;
  }

  void fuse(Presence score, ArrayRef<ContractOp> mixes, ArrayRef<Value> values) {
    Operation *anchor = mixes.front();
    SmallVector<LogSumExpOp> lses;
    for (LogSumExpOp lse : findLogSumExps()) {
      if (moveReadersBehind(lse, anchor))
        lses.push_back(lse);
      else
        remarkMissed(lse.getLoc(), "logsumexp over " + listed(over) + " is computed apart from its softmax",
                     "what reads it comes before the mix", "use it behind the mix");
    }
    auto isMix = [&](Operation *user) { return llvm::is_contained(mixes, user); };
    bool othersRead = !llvm::all_of(softmax->getUsers(), isMix);
    // Their first reader comes before the mix: moved behind it, or the softmax stays for them.
    bool weights = othersRead && moveOtherReaders(anchor, isMix);
    OpBuilder builder(anchor);
    FlashPlan plan{score.value, score.condition, softmax.getSink(), SmallVector<Value>(values), softmax.getOver()};
    plan.logsumexp = weights || !lses.empty();
    FlashOp flash = buildFlash(builder, anchor->getLoc(), plan);
    remarkDone(softmax.getLoc(), "softmax over " + listed(over) + " is fused with " +
                                     counted(flash.getQueries().size(), "score") + " and " +
                                     counted(mixes.size(), "mix") + (lses.empty() ? "" : ", its logsumexp too") +
                                     (weights ? "; weights are computed again where they are read" : ""));
    for (auto [mix, output] : llvm::zip(mixes, flash.getOutputs())) {
      ContractOp old = mix;
      old.replaceAllUsesWith(output);
    }
    for (LogSumExpOp lse : lses)
      lse.replaceAllUsesWith(flash.getOutputs().back());
    for (ContractOp mix : mixes)
      mix.erase();
    for (LogSumExpOp lse : lses)
      lse.erase();
    if (weights) {
      builder.setInsertionPointAfter(flash);
      softmax.replaceAllUsesWith(weightsFrom(builder, softmax.getValue(), flash.getOutputs().back()));
    }
  }

  bool moveOtherReaders(Operation *anchor, llvm::function_ref<bool(Operation *)> isMix) {
    for (Operation *user : softmax->getUsers())
      if (!isMix(user) && user->isBeforeInBlock(anchor)) {
        // Only what reads the weights moves; the mixes that read them too are at or behind the anchor.
        return moveReadersBehind(softmax, anchor);
      }
    return true;
  }

  /// exp(score - lse): 0 where the score is -inf, which is absent, and NaN elsewhere in a row with a present +inf.
  Value weightsFrom(OpBuilder &builder, Value score, Value lse) {
    Value inputs[] = {score, lse};
    return mapOf(builder, softmax.getLoc(), inputs, [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      auto number = [&](double value) -> Value {
        return arith::ConstantOp::create(b, loc, b.getFloatAttr(scalars[0].getType(), value));
      };
      auto is = [&](Value scalar, double value) -> Value {
        return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, scalar, number(value));
      };
      double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
      Value weight = math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, scalars[0], scalars[1]));
      weight = arith::SelectOp::create(b, loc, is(scalars[1], inf), number(nan), weight);
      return arith::SelectOp::create(b, loc, is(scalars[0], -inf), number(0), weight);
    });
  }

  SoftmaxOp softmax;
  AxisList over;
};
} // namespace

//===----------------------------------------------------------------------===//
// Scores that are mixed as they are
//===----------------------------------------------------------------------===//

/// The side of a mix that is made of scores; null when there is none, or when both are.
static Value scoreSide(ContractOp mix, ArrayRef<StringAttr> over) {
  if (mix.getRole() == Role::Project)
    return {};
  Value found;
  for (Value side : mix->getOperands()) {
    SmallVector<ScoreTerm> terms = findTerms(side, over);
    if (terms.empty())
      continue;
    bool attention = !reads<SoftmaxOp>(side) && side.hasOneUse() && llvm::all_of(terms, [](ScoreTerm term) {
      return term.contract.getRole() != Role::Project && !reads<SoftmaxOp>(term.key) && term.contract->hasOneUse();
    });
    if (!attention || found)
      return {};
    found = side;
  }
  return found;
}

static void fuseUnnormalised(ContractOp mix) {
  AxisList over = axisNames(mix.getOver());
  Value side = scoreSide(mix, over);
  if (!side)
    return;
  Value value = otherSide(mix, side);
  OpBuilder builder(mix);
  Presence score = splitPresence(builder, side);
  SmallVector<ScoreTerm> terms = findTerms(score.value, over);
  std::string what = "the mix over " + listed(over);
  Obstacle obstacle = findObstacle(terms, over, value);
  if (!obstacle && valueType(score.value) != valueType(side))
    obstacle = {"its scores are masked along axes that they do not have", ""};
  if (obstacle)
    return remarkMissed(mix.getLoc(), what + " is not fused with its scores, and they are stored", obstacle.why,
                        obstacle.advice);
  remarkDone(mix.getLoc(), what + " is fused with " + counted(terms.size(), "score"));
  FlashPlan plan{score.value, score.condition, Value(), {value}, mix.getOver(), Normalizer::Identity};
  FlashOp flash = buildFlash(builder, mix.getLoc(), plan);
  mix.replaceAllUsesWith(flash.getOutputs().front());
  mix.erase();
}

/// Whether a requirement or an extent waits for it: they are evaluated before any stage.
static bool isNeededBefore(Operation *op) {
  llvm::SetVector<Operation *> readers;
  getForwardSlice(op, &readers);
  return llvm::any_of(readers, [](Operation *reader) { return isa<RequireOp, RaggedOp>(reader); });
}

namespace {
struct Fuse : attn::impl::FuseBase<Fuse> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    Block &block = program.getBody().front();
    for (SoftmaxOp softmax : llvm::to_vector(block.getOps<SoftmaxOp>()))
      if (!isNeededBefore(softmax))
        SoftmaxFusion(softmax).run();
    eraseDead(block);
    for (ContractOp mix : llvm::to_vector(block.getOps<ContractOp>()))
      if (!isNeededBefore(mix))
        fuseUnnormalised(mix);
    eraseDead(block);
  }
};
} // namespace
