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
    findMixes();
    if (mixes.empty() && !isMixedPairByPair())
      return missed(whyNotMixed());
    SmallVector<Value> values = llvm::map_to_vector(mixes, [&](ContractOp mix) { return otherSide(mix, mixed); });
    if (Obstacle obstacle = findObstacle(terms, over, values))
      return missed(obstacle);
    if (mixes.empty())
      fuseLogSumExp(score);
    else
      fuse(score, values);
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
      return {"its weights are combined with each other before they are mixed",
              "change them pair by pair, or the scores before the softmax, if that means the same"};
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

  bool isMix(Operation *op) const { return llvm::is_contained(mixes, op); }

  bool isOverKeys(ContractOp contract) const { return sameAxes(axisNames(contract.getOver()), over); }

  /// Contractions of `weights` with something else over the keys.
  SmallVector<ContractOp> mixesOf(Value weights) const {
    SmallVector<ContractOp> found;
    for (Operation *user : weights.getUsers())
      if (auto mix = dyn_cast<ContractOp>(user); mix && isOverKeys(mix) && otherSide(mix, weights) != weights)
        found.push_back(mix);
    return found;
  }

  /// The mixes of the weights as they are; without one, those of the first value that grows with them.
  void findMixes() {
    mixed = softmax;
    mixes = mixesOf(softmax);
    for (Operation *op = softmax->getNextNode(); op && mixes.empty(); op = op->getNextNode())
      if (isPointwise(op) && growsWith(softmax, op->getResult(0))) {
        mixed = op->getResult(0);
        mixes = mixesOf(mixed);
      }
    llvm::sort(mixes, [](ContractOp a, ContractOp b) { return a->isBeforeInBlock(b); });
    // What is fused stands at the first mix: a value that comes later has to do without.
    llvm::erase_if(mixes, [&](ContractOp mix) {
      Operation *value = otherSide(mix, mixed).getDefiningOp();
      return value && !value->isBeforeInBlock(mixes.front());
    });
  }

  /// Whether all that reads the weights does so pair by pair, to mix what it makes of them or to store it. With the
  /// log-sum-exp at hand, weights are scores like any others.
  bool isMixedPairByPair() {
    bool isMixed = false;
    bool isAll = onlyFeeds(softmax, [&](Operation *user) {
      auto contract = dyn_cast<ContractOp>(user);
      isMixed |= contract && isOverKeys(contract);
      return isa<WriteOp>(user) || (contract && isOverKeys(contract));
    });
    return isAll && isMixed;
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

  /// What reads a log-sum-exp of the same scores moves behind `anchor`, where that can be.
  SmallVector<LogSumExpOp> takeLogSumExps(Operation *anchor) {
    SmallVector<LogSumExpOp> taken;
    for (LogSumExpOp lse : findLogSumExps()) {
      if (moveReadersBehind(lse, anchor))
        taken.push_back(lse);
      else
        remarkMissed(lse.getLoc(), "logsumexp over " + listed(over) + " is computed apart from its softmax",
                     "what reads it comes before the mix", "use it behind the mix");
    }
    return taken;
  }

  void fuse(Presence score, ArrayRef<Value> values) {
    Operation *anchor = mixes.front();
    SmallVector<LogSumExpOp> lses = takeLogSumExps(anchor);
    bool othersRead = !onlyFeeds(softmax, [&](Operation *user) { return isMix(user); });
    // Their first reader comes before the mix: moved behind it, or the softmax stays for them.
    bool weights = othersRead && moveOtherReaders(anchor);
    OpBuilder builder(anchor);
    FlashPlan plan{score.value, score.condition, softmax.getSink()};
    plan.values.assign(values.begin(), values.end());
    plan.over = softmax.getOver();
    if (mixed != softmax.getResult()) {
      plan.weights = softmax;
      plan.changed = mixed;
    }
    plan.logsumexp = weights || !lses.empty();
    FlashOp flash = buildFlash(builder, anchor->getLoc(), plan);
    remarkDone(softmax.getLoc(), "softmax over " + listed(over) + " is fused with " +
                                     counted(flash.getQueries().size(), "score") + " and " +
                                     counted(mixes.size(), "mix") + (plan.changed ? " of changed weights" : "") +
                                     (lses.empty() ? "" : ", its logsumexp too") +
                                     (weights ? "; weights are computed again where they are read" : ""));
    for (auto [mix, output] : llvm::zip(mixes, flash.getOutputs()))
      mix.replaceAllUsesWith(output);
    for (ContractOp mix : mixes)
      mix.erase();
    replaceRest(builder, flash, lses, weights);
  }

  /// Mixes are left to what fuses scores without a softmax.
  void fuseLogSumExp(Presence score) {
    OpBuilder builder(softmax);
    SmallVector<LogSumExpOp> lses = takeLogSumExps(softmax);
    FlashPlan plan{score.value, score.condition, softmax.getSink()};
    plan.over = softmax.getOver();
    plan.logsumexp = true;
    FlashOp flash = buildFlash(builder, softmax.getLoc(), plan);
    remarkDone(softmax.getLoc(), "softmax over " + listed(over) +
                                     " takes a pass of its own for its logsumexp; weights are computed again where they are read");
    replaceRest(builder, flash, lses, /*weights=*/true);
  }

  void replaceRest(OpBuilder &builder, FlashOp flash, ArrayRef<LogSumExpOp> lses, bool weights) {
    for (LogSumExpOp lse : lses) {
      lse.replaceAllUsesWith(flash.getOutputs().back());
      lse.erase();
    }
    if (!weights)
      return;
    builder.setInsertionPointAfter(flash);
    softmax.replaceAllUsesWith(weightsFrom(builder, softmax.getValue(), flash.getOutputs().back()));
  }

  bool moveOtherReaders(Operation *anchor) {
    for (Operation *user : softmax->getUsers())
      if (!isMix(user) && user->isBeforeInBlock(anchor)) {
        // Only what reads the weights moves; the mixes that read them too are at or behind the anchor.
        return moveReadersBehind(softmax, anchor);
      }
    return true;
  }

  /// exp(score - lse), absent where the score is -inf, and NaN elsewhere in a row with a present +inf.
  Value weightsFrom(OpBuilder &builder, Value score, Value lse) {
    Value inputs[] = {score, lse};
    Location loc = softmax.getLoc();
    auto equals = [](OpBuilder &b, Location loc, Value scalar, double number) -> Value {
      Value other = arith::ConstantOp::create(b, loc, b.getFloatAttr(scalar.getType(), number));
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, scalar, other);
    };
    double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    Value weights = mapOf(builder, loc, inputs, [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      Value weight = math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, scalars[0], scalars[1]));
      Value number = arith::ConstantOp::create(b, loc, b.getFloatAttr(weight.getType(), nan));
      return arith::SelectOp::create(b, loc, equals(b, loc, scalars[1], inf), number, weight);
    });
    Value isAbsent = mapOf(builder, loc, score, [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      return equals(b, loc, scalars[0], -inf);
    });
    return whereOf(builder, loc, weights, notOf(builder, loc, isAbsent));
  }

  SoftmaxOp softmax;
  AxisList over;
  Value mixed; ///< what is mixed: the weights, or what grows with them
  SmallVector<ContractOp> mixes;
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
    auto isMix = [&](Operation *user) { return user == mix; };
    bool attention = !reads<SoftmaxOp>(side) && side.hasOneUse() && llvm::all_of(terms, [&](ScoreTerm term) {
      return term.contract.getRole() != Role::Project && !reads<SoftmaxOp>(term.key) &&
             onlyFeeds(ContractOp(term.contract), isMix);
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

/// A log-sum-exp of scores that nothing mixes.
static void fuseLogSumExp(LogSumExpOp lse) {
  AxisList over = axisNames(lse.getOver());
  OpBuilder builder(lse);
  Presence score = splitScore(builder, lse.getValue());
  SmallVector<ScoreTerm> terms = findTerms(score.value, over);
  auto isLse = [&](Operation *user) { return user == lse; };
  bool isAlone = llvm::all_of(terms, [&](ScoreTerm term) { return onlyFeeds(ContractOp(term.contract), isLse); });
  if (terms.empty() || !isAlone || findObstacle(terms, over, {}))
    return;
  FlashPlan plan{score.value, score.condition, lse.getSink()};
  plan.over = lse.getOver();
  plan.logsumexp = true;
  FlashOp flash = buildFlash(builder, lse.getLoc(), plan);
  remarkDone(lse.getLoc(), "logsumexp over " + listed(over) + " is fused with " + counted(terms.size(), "score"));
  lse.replaceAllUsesWith(flash.getOutputs().back());
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
    for (LogSumExpOp lse : llvm::to_vector(block.getOps<LogSumExpOp>()))
      if (!isNeededBefore(lse))
        fuseLogSumExp(lse);
    eraseDead(block);
    for (ContractOp mix : llvm::to_vector(block.getOps<ContractOp>()))
      if (!isNeededBefore(mix))
        fuseUnnormalised(mix);
    eraseDead(block);
  }
};
} // namespace
