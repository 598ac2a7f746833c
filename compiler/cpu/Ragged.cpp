//===- Ragged.cpp - lengths that a call must have ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/cpu/Ragged.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

namespace {
/// A dimension of an argument along which a ragged axis lies.
struct StoredAlong {
  unsigned argument, dim;
  bool isPacked; ///< then it holds the sum of the extents, otherwise each
};

/// Sums stop growing here: no dimension is that long, and no sum wraps around to one.
constexpr int64_t tooLong = int64_t(1) << 60;
} // namespace

static SmallVector<StoredAlong> storedAlong(const Signature &signature, StringAttr axis) {
  SmallVector<StoredAlong> found;
  for (unsigned i = 0; i < signature.args.size(); ++i)
    for (auto [d, dim] : llvm::enumerate(signature.argType(i).getDims()))
      if (!dim.getFactors().empty() && dim.getFactors().back().getName() == axis)
        found.push_back({i, unsigned(d), dim.getFactors().size() > 1});
  return found;
}

//===----------------------------------------------------------------------===//
// Extents that do not change
//===----------------------------------------------------------------------===//

/// A tensor that the value reads and a stage may write; null when there is none.
static Value changingSource(Value value, const Signature &signature) {
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast<ReadOp>(op)) {
    auto argument = dyn_cast<BlockArgument>(read.getRef());
    if (!argument || signature.args[argument.getArgNumber()].getMode() != Mode::In)
      return read.getRef();
  }
  for (Value operand : op->getOperands())
    if (isa<ValueType>(operand.getType()))
      if (Value source = changingSource(operand, signature))
        return source;
  return {};
}

LogicalResult attn::verifyRagged(const FrameLayout &layout) {
  const Signature &signature = layout.getSignature();
  for (AxisAttr axis : signature.axes) {
    if (!axis.isRagged())
      continue;
    RaggedOp ragged = layout.ragged(axis.getName());
    if (!ragged)
      return layout.getKernel().emitError("nothing gives the extent of the ragged axis ") << axis.getName().getValue();
    if (changingSource(ragged.getExtent(), signature))
      return ragged.emitError("the extent of ") << axis.getName().getValue()
                                                << " depends on what the kernel itself writes";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

std::vector<std::string> attn::raggedConditions(const FrameLayout &layout) {
  const Signature &signature = layout.getSignature();
  std::vector<std::string> texts;
  for (RaggedOp op : layout.getKernel().getBody().getOps<RaggedOp>()) {
    std::string extents = op.getAxis().str() + "[";
    for (auto [i, on] : llvm::enumerate(layout.dependsOn(op.getAxisAttr())))
      extents += (i ? ", " : "") + StringRef(on.getValue()).lower();
    extents += "]";
    texts.push_back(extents + " >= 0 everywhere");
    for (const StoredAlong &stored : storedAlong(signature, op.getAxisAttr())) {
      std::string dim = "dimension " + std::to_string(stored.dim) + " of " +
                        signature.args[stored.argument].getName().str() + ", " +
                        signature.argType(stored.argument).getDims()[stored.dim].str() + ", ";
      texts.push_back(dim + (stored.isPacked ? "to be the sum of all " : "to hold every ") + extents);
    }
  }
  return texts;
}

namespace {
/// All extents of an axis at once.
struct Extents {
  Value areSound, largest, sum;
};
} // namespace

static Extents gather(FunctionScope &f, Expressions &expressions, RaggedOp op) {
  OpBuilder &b = f.builder();
  Value yes = arith::ConstantOp::create(b, f.loc(), b.getBoolAttr(true)), zero = f.i64(0);
  auto results = expressions.loops(
      f.getLayout().dependsOn(op.getAxisAttr()), {yes, zero, zero}, [&](ValueRange carried) -> FunctionScope::Values {
        Datum extent = expressions.evaluate(op.getExtent());
        Value isSound = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::sge, extent.value, zero);
        isSound = expressions.both(carried[0], expressions.both(isSound, extent.present));
        Value bounded = f.min(f.max(extent.value, zero), f.i64(tooLong));
        Value sum = f.min(f.add(carried[2], bounded), f.i64(tooLong));
        return {isSound, f.max(carried[1], bounded), sum};
      });
  return {results[0], results[1], results[2]};
}

FailureOr<Value> attn::emitRaggedChecks(FunctionScope &f, bool fillsFrame) {
  OpBuilder &b = f.builder();
  const FrameLayout &layout = f.getLayout();
  Expressions expressions(f, /*lanes=*/1);
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, f.loc(), b.getI32IntegerAttr(value));
  };
  Value failing = number(0);
  int32_t count = 0;
  auto require = [&](Value holds) {
    Value isFirst = arith::CmpIOp::create(b, f.loc(), arith::CmpIPredicate::eq, failing, number(0));
    Value now = arith::SelectOp::create(b, f.loc(), isFirst, number(++count), failing);
    failing = arith::SelectOp::create(b, f.loc(), holds, failing, now);
  };
  for (RaggedOp op : layout.getKernel().getBody().getOps<RaggedOp>()) {
    f.setLoc(op.getLoc());
    Extents extents = gather(f, expressions, op);
    require(extents.areSound);
    for (const StoredAlong &stored : storedAlong(layout.getSignature(), op.getAxisAttr())) {
      Value dim = f.frameSlot(layout.dimension(stored.argument, stored.dim));
      auto how = stored.isPacked ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sle;
      require(arith::CmpIOp::create(b, f.loc(), how, stored.isPacked ? extents.sum : extents.largest, dim));
    }
    if (fillsFrame)
      f.store(extents.largest, f.getFunction().getArgument(0), f.i64(layout.axis(op.getAxisAttr())));
  }
  if (expressions.failed())
    return failure();
  return failing;
}

AxisList attn::emitRaggedBounds(FunctionScope &f) {
  const FrameLayout &layout = f.getLayout();
  AxisList unbounded;
  for (RaggedOp op : layout.getKernel().getBody().getOps<RaggedOp>()) {
    Value bound;
    for (const StoredAlong &stored : storedAlong(layout.getSignature(), op.getAxisAttr())) {
      Value dim = f.frameSlot(layout.dimension(stored.argument, stored.dim));
      bound = bound ? f.min(bound, dim) : dim;
    }
    if (!bound)
      unbounded.push_back(op.getAxisAttr());
    f.store(bound ? bound : f.i64(0), f.getFunction().getArgument(0), f.i64(layout.axis(op.getAxisAttr())));
  }
  return unbounded;
}

Value attn::packedExtent(FunctionScope &f, StringAttr axis) {
  const FrameLayout &layout = f.getLayout();
  for (const StoredAlong &stored : storedAlong(layout.getSignature(), axis))
    if (stored.isPacked)
      return f.frameSlot(layout.dimension(stored.argument, stored.dim));
  return {};
}

bool attn::isPacked(const Signature &signature, StringAttr axis) {
  return llvm::any_of(storedAlong(signature, axis), [](const StoredAlong &stored) { return stored.isPacked; });
}

bool attn::isBounded(const Signature &signature, StringAttr axis) {
  return !signature.findAxis(axis).isRagged() || !storedAlong(signature, axis).empty();
}
