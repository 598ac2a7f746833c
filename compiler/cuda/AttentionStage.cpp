//===- AttentionStage.cpp - the kernels of an attention ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cuda/AttentionStage.h"
#include "compiler/cpu/VectorMath.h"

using namespace mlir;
using namespace attn;

namespace {
/// Merges what the chunks of a query's keys left, one after the other.
class MergeTask : public QueryTask {
public:
  using QueryTask::QueryTask;

  LogicalResult emit(Value query, const Partials &partials, Filter takes) {
    return forQuery(query, takes, [&] {
      Value chunks = partials.chunks(f, axes.keyCount(x));
      forPasses([&](Value firstElement) {
        Values state{number(-std::numeric_limits<double>::infinity()), number(0.0), number(0.0)};
        state.append(axes.widths.size() * perLane, number(0.0));
        finish(firstElement, f.loop(f.i64(0), chunks, f.i64(1), state, [&](Value chunk, ValueRange state) {
          return merge(partials, partials.place(f, query, chunk), firstElement, state);
        }));
      });
    });
  }

private:
  Value load(Value place, Value offset) { return f.load(b.getF32Type(), place, offset); }

  /// A chunk without a seen key has a sum of 0: nothing else of it is read.
  Values merge(const Partials &partials, Value place, Value firstElement, ValueRange state) {
    if (!isSoftmax())
      return add(partials, place, firstElement, state, {}, {});
    Value sum = load(place, f.i64(Partials::Sum));
    Value isSeen = arith::CmpFOp::create(b, f.loc(), arith::CmpFPredicate::UNE, sum, number(0.0));
    return f.choose(
        isSeen, state.getTypes(),
        [&] {
          Values next(state);
          Value maximum = load(place, f.i64(Partials::Maximum));
          next[Partials::Maximum] = emitMax(f, maximum, state[Partials::Maximum]);
          Value shift = shiftFor(next[Partials::Maximum]);
          Value old = powerOf(state[Partials::Maximum], shift), own = powerOf(maximum, shift);
          Value itsSum = select(isFirstLane(), mul(sum, own), number(0.0));
          next[Partials::Sum] = math::FmaOp::create(b, f.loc(), state[Partials::Sum], old, itsSum);
          next[Partials::Kept] = emitMax(f, load(place, f.i64(Partials::Kept)), state[Partials::Kept]);
          return add(partials, place, firstElement, next, old, own);
        },
        [&] { return Values(state); });
  }

  /// The lane's outputs times `old`, and the chunk's times `own`; null: 1.
  Values add(const Partials &partials, Value place, Value firstElement, ValueRange state, Value old, Value own) {
    Values next(state);
    for (auto [v, width] : llvm::enumerate(axes.widths))
      for (int64_t i = 0; i < perLane; ++i) {
        Value index = elementOf(firstElement, i), &output = next[Partials::Statistics + v * perLane + i];
        output = f.choose(
            f.less(index, f.extent(width)), {b.getF32Type()},
            [&]() -> Values {
              Value element = load(place, f.add(partials.offset(f, v), index));
              if (own)
                return {math::FmaOp::create(b, f.loc(), element, own, mul(output, old)).getResult()};
              return {arith::AddFOp::create(b, f.loc(), output, element).getResult()};
            },
            [&]() -> Values { return {output}; })[0];
      }
    return next;
  }
};
} // namespace

AttentionStage::AttentionStage(StageOp stage) : DeviceStage(stage), flash(*stage.getBody().getOps<FlashOp>().begin()) {}

LogicalResult AttentionStage::prepare(const FrameLayout &layout) {
  FailureOr<FlashAxes> found = FlashAxes::of(flash, layout.getSignature());
  if (failed(found))
    return failure();
  axes = *found;
  decode = DecodeForm::of(axes, schedule, layout.getSignature());
  if (decode.hasPrefill)
    forms.push_back(Form::Whole);
  if (decode.serves)
    forms.append({Form::Split, Form::Merge});
  return success();
}

KernelShape AttentionStage::shape(unsigned kernel) const {
  return forms[kernel] == Form::Merge ? KernelShape{/*threads=*/128, /*threadsPerTask=*/warpLanes} : walkShape();
}

Value AttentionStage::emitTaskCount(FunctionScope &f, unsigned kernel) {
  switch (forms[kernel]) {
  case Form::Whole:
    return decode.whereMany(f, walkCount(f));
  case Form::Split:
    return decode.whereFew(f, f.mul(walkCount(f), partials().mostChunks(f)));
  case Form::Merge:
    return decode.whereFew(f, QueryTask::count(f, axes));
  }
  llvm_unreachable("every form has tasks");
}

/// Walks of one chunk come one after the other: heads that lie side by side in memory share its pages.
LogicalResult AttentionStage::emitTask(FunctionScope &f, unsigned kernel, Value task) {
  auto isFew = [&](Expressions &x) { return decode.takes(x); };
  switch (forms[kernel]) {
  case Form::Whole:
    return emitWalk(f, task, nullptr, [&](Expressions &x) -> Value {
      Value few = decode.serves ? decode.takes(x) : Value();
      return few ? x.negate(few) : few;
    });
  case Form::Split: {
    Partials partials = this->partials();
    Value walks = walkCount(f);
    KeyChunk chunk{partials, f.div(task, walks)};
    return emitWalk(f, f.rem(task, walks), &chunk, isFew);
  }
  case Form::Merge:
    return MergeTask(f, stage, flash, axes).emit(task, partials(), isFew);
  }
  llvm_unreachable("every form has tasks");
}

Value AttentionStage::emitScratchBytes(FunctionScope &f) {
  return decode.serves ? decode.whereFew(f, partials().bytes(f)) : Value();
}
