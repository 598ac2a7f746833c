//===- PackWeights.cpp - attn-pack-weights ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "attn/runtime.h"
#include "compiler/optimize/Expressions.h"
#include "compiler/optimize/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace attn {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "compiler/optimize/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// One argument of one program.
class WeightPacker {
public:
  WeightPacker(ProgramOp program, unsigned argument)
      : program(program), signature(program), argument(argument), ref(signature.body->getArgument(argument)),
        old(signature.argType(argument)), name(signature.args[argument].getName().getValue()) {}

  LogicalResult pack() {
    if (signature.args[argument].getMode() != Mode::In || !old.getElementType().isF32())
      return refuse(program.getLoc(), "only f32 parameters are packed");
    if (ref.use_empty())
      return refuse(program.getLoc(), "nothing reads it");
    for (ExtentAttr factor : old.getFactors())
      if (!factor.getName() && !factor.getConstant())
        return refuse(program.getLoc(), "its dimension " + factor.str() + " is computed");
    for (Operation *user : ref.getUsers())
      if (failed(findContracted(cast<ReadOp>(user))))
        return failure();
    if (llvm::all_of(isContracted, [](bool is) { return is; }) || llvm::none_of(isContracted, [](bool is) { return is; }))
      return refuse(program.getLoc(), "some of its dimensions must be contracted, and others not");
    if (failed(changeSignature()))
      return failure();
    for (Operation *user : llvm::make_early_inc_range(ref.getUsers()))
      changeRead(cast<ReadOp>(user));
    return success();
  }

private:
  LogicalResult refuse(Location loc, const Twine &why) {
    return emitError(loc) << "'" << name << "' of " << signature.name << " cannot be packed: " << why;
  }

  /// Calls `visit` with each dimension, its first factor, and how many it has.
  void overDims(llvm::function_ref<void(unsigned dim, unsigned first, unsigned count)> visit) const {
    unsigned first = 0;
    for (auto [d, dim] : llvm::enumerate(old.getDims())) {
      visit(d, first, dim.getFactors().size());
      first += dim.getFactors().size();
    }
  }

  /// Which dimensions a read leaves to the contractions that use it; the same for all reads.
  LogicalResult findContracted(ReadOp read) {
    for (Operation *user : read->getUsers()) {
      auto contract = dyn_cast<ContractOp>(user);
      if (!contract)
        return refuse(user->getLoc(), "this uses it beside a product");
      AxisList over = axisNames(contract.getOver());
      SmallVector<bool> found;
      bool isMixed = false;
      overDims([&](unsigned, unsigned first, unsigned count) {
        unsigned contracted = 0, mentions = 0;
        for (Value index : read.getIndices().slice(first, count)) {
          auto own = index.getDefiningOp<IndexOp>();
          contracted += own && llvm::is_contained(over, own.getAxisAttr());
          mentions += llvm::any_of(valueType(index).getAxes(), [&](StringAttr axis) { return llvm::is_contained(over, axis); });
        }
        isMixed |= mentions != 0 && contracted != count;
        found.push_back(contracted == count);
      });
      if (isMixed)
        return refuse(read.getLoc(), "a dimension is contracted in part");
      if (!isContracted.empty() && found != isContracted)
        return refuse(read.getLoc(), "products contract different dimensions of it");
      isContracted = found;
    }
    return success();
  }

  LogicalResult changeSignature() {
    MLIRContext *context = program.getContext();
    ExtentAttr panel = ExtentAttr::constant(context, ATTN_PACK_COLUMNS), columns = ExtentAttr::constant(context, 1);
    unsigned columnDims = 0;
    overDims([&](unsigned d, unsigned, unsigned) {
      if (isContracted[d])
        return;
      ++columnDims;
      for (ExtentAttr factor : old.getDims()[d].getFactors())
        columns = ExtentAttr::binary(AffineExprKind::Mul, columns, factor);
    });
    SmallVector<DimAttr> dims{DimAttr::get(context, {ExtentAttr::binary(AffineExprKind::FloorDiv, columns, panel)})};
    // What an extent says of a dimension of this argument, it says of another one now.
    llvm::StringMap<ExtentAttr> moved;
    auto dimension = [&](unsigned d) { return (name + "." + Twine(d)).str(); };
    overDims([&](unsigned d, unsigned, unsigned) {
      if (isContracted[d]) {
        moved[dimension(d)] = ExtentAttr::named(context, dimension(dims.size()));
        dims.push_back(old.getDims()[d]);
      } else {
        moved[dimension(d)] = columnDims == 1 ? ExtentAttr::binary(AffineExprKind::Mul, panel,
                                                                   ExtentAttr::named(context, dimension(0)))
                                              : ExtentAttr();
      }
    });
    dims.push_back(DimAttr::get(context, {panel}));
    for (StringRef list : {"axes", "facts"}) {
      SmallVector<Attribute> changed;
      for (Attribute each : program->getAttrOfType<ArrayAttr>(list)) {
        auto axis = cast<AxisAttr>(each);
        if (axis.isRagged()) {
          changed.push_back(axis);
          continue;
        }
        for (StringAttr used : axis.getExtent().getNames())
          if (auto found = moved.find(used.getValue()); found != moved.end() && !found->second)
            return refuse(program.getLoc(), "only it says how large " + axis.getName().getValue() + " is; give it in `where`, or by -D");
        ExtentAttr extent = axis.getExtent().substitute([&](StringAttr used) { return moved.lookup(used.getValue()); });
        changed.push_back(AxisAttr::get(context, axis.getName(), axis.getDependsOn(), extent));
      }
      program->setAttr(list, ArrayAttr::get(context, changed));
    }
    ref.setType(RefType::get(dims, old.getElementType()));
    noteDimensions();
    return success();
  }

  /// `packed = {wq = ["(H E), D", 2]}`
  void noteDimensions() {
    Builder builder(program.getContext());
    SmallVector<std::string> texts;
    uint64_t bits = 0;
    for (auto [d, dim] : llvm::enumerate(old.getDims())) {
      texts.push_back(dim.str());
      bits |= uint64_t(isContracted[d]) << d;
    }
    NamedAttrList noted(program->getAttrOfType<DictionaryAttr>("packed"));
    noted.set(name, builder.getArrayAttr({builder.getStringAttr(llvm::join(texts, ", ")), builder.getI64IntegerAttr(bits)}));
    program->setAttr("packed", noted.getDictionary(program.getContext()));
  }

  void changeRead(ReadOp read) {
    OpBuilder b(read);
    Location loc = read.getLoc();
    Value column;
    SmallVector<Value> indices{Value()};
    overDims([&](unsigned d, unsigned first, unsigned count) {
      if (isContracted[d])
        return llvm::append_range(indices, read.getIndices().slice(first, count));
      for (unsigned i = first; i < first + count; ++i)
        column = column ? following(b, loc, column, old.getFactors()[i], read.getIndices()[i]) : read.getIndices()[i];
    });
    auto perPanel = [&](bool rest) {
      return mapOf(b, loc, column, [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
        Value size = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(ATTN_PACK_COLUMNS));
        Value panel = arith::FloorDivSIOp::create(b, loc, scalars[0], size);
        if (!rest)
          return panel;
        return arith::SubIOp::create(b, loc, scalars[0], arith::MulIOp::create(b, loc, panel, size));
      });
    };
    indices.front() = perPanel(/*rest=*/false);
    indices.push_back(perPanel(/*rest=*/true));
    read.getIndicesMutable().assign(indices);
  }

  /// column * extent + index
  Value following(OpBuilder &b, Location loc, Value column, ExtentAttr extent, Value index) {
    SmallVector<Value> inputs{column, index};
    std::optional<int64_t> known = extent.getConstant();
    if (!known)
      inputs.push_back(extentOf(b, loc, extent.getName()));
    return mapOf(b, loc, inputs, [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
      Value size = known ? Value(arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(*known))) : scalars[2];
      return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, scalars[0], size), scalars[1]);
    });
  }

  ProgramOp program;
  Signature signature;
  unsigned argument;
  BlockArgument ref;
  RefType old;
  StringRef name;
  SmallVector<bool> isContracted; ///< by dimension
};

struct PackWeights : attn::impl::PackWeightsBase<PackWeights> {
  using PackWeightsBase::PackWeightsBase;

  void runOnOperation() override {
    for (const std::string &weight : weights) {
      bool found = false;
      for (auto program : getOperation().getOps<ProgramOp>())
        for (auto [i, arg] : llvm::enumerate(Signature(program).args))
          if (arg.getName() == weight) {
            found = true;
            if (failed(WeightPacker(program, i).pack()))
              return signalPassFailure();
          }
      if (!found) {
        emitError(getOperation().getLoc()) << "no attention has an argument '" << weight << "' to pack";
        return signalPassFailure();
      }
    }
  }
};

} // namespace
