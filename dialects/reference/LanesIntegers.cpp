// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar operations on integers and conditions, and the table of all. Integer
// arithmetic wraps; what has no answer (a division by zero) is unsure.
#include "dialects/reference/Lanes.h"

namespace attn::reference {

Lanes::Lanes(mlir::Type type, size_t n)
    : kind(kindOf(type)),
      width(type.isInteger() ? type.getIntOrFloatBitWidth() : 64),
      single(!type.isF64()) {
  radius.resize(n);
  if (kind == Kind::Number) {
    value.resize(n);
    least.resize(n);
  } else {
    integer.resize(n);
    unsure.resize(n);
  }
}

void Lanes::set(size_t i, int64_t x, bool isUnsure) {
  if (width == 1)
    x &= 1;
  else if (width < 64)
    x = llvm::SignExtend64(static_cast<uint64_t>(x), width);
  integer[i] = x;
  unsure[i] = isUnsure;
  radius[i] = isUnsure ? kUnbounded : 0;
}

namespace {
using Whole = int64_t;

template <Whole (*f)(Whole, Whole)>
void binary(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out.set(i, f(in[0]->integer[i], in[1]->integer[i]),
            in[0]->unsure[i] | in[1]->unsure[i]);
}
/// The same where the right side may make it meaningless.
template <Whole (*f)(Whole, Whole), bool (*meaningless)(Whole)>
void guarded(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Whole a = in[0]->integer[i], b = in[1]->integer[i];
    bool bad = meaningless(b);
    out.set(i, bad ? 0 : f(a, b), bad || in[0]->unsure[i] || in[1]->unsure[i]);
  }
}
bool isZero(Whole b) { return b == 0; }
bool isNoShift(Whole b) { return b < 0 || b > 63; }

// Signed overflow is undefined in C++ and wraps in generated code.
Whole add(Whole a, Whole b) {
  return static_cast<uint64_t>(a) + static_cast<uint64_t>(b);
}
Whole subtract(Whole a, Whole b) {
  return static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
}
Whole multiply(Whole a, Whole b) {
  return static_cast<uint64_t>(a) * static_cast<uint64_t>(b);
}
Whole truncatedQuotient(Whole a, Whole b) {
  return b == -1 ? subtract(0, a) : a / b;
}
Whole truncatedRemainder(Whole a, Whole b) { return b == -1 ? 0 : a % b; }
Whole floorQuotient(Whole a, Whole b) {
  Whole q = truncatedQuotient(a, b);
  return truncatedRemainder(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
Whole ceilQuotient(Whole a, Whole b) {
  Whole q = truncatedQuotient(a, b);
  return truncatedRemainder(a, b) != 0 && (a < 0) == (b < 0) ? q + 1 : q;
}
Whole unsignedQuotient(Whole a, Whole b) {
  return static_cast<uint64_t>(a) / static_cast<uint64_t>(b);
}
Whole unsignedRemainder(Whole a, Whole b) {
  return static_cast<uint64_t>(a) % static_cast<uint64_t>(b);
}
Whole maximum(Whole a, Whole b) { return std::max(a, b); }
Whole minimum(Whole a, Whole b) { return std::min(a, b); }
Whole shiftLeft(Whole a, Whole b) { return static_cast<uint64_t>(a) << b; }
Whole shiftRight(Whole a, Whole b) { return a >> b; }
Whole shiftRightLogical(Whole a, Whole b) {
  return static_cast<uint64_t>(a) >> b;
}
Whole exclusiveOr(Whole a, Whole b) { return a ^ b; }

/// A sure 0 decides `and`, a sure 1 `or`, whatever the other side is.
template <bool isAnd>
void bitwise(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Whole a = in[0]->integer[i], b = in[1]->integer[i];
    bool ua = in[0]->unsure[i], ub = in[1]->unsure[i];
    Whole decides = isAnd ? 0 : -1;
    if (out.width == 1)
      decides &= 1;
    bool settled = (!ua && a == decides) || (!ub && b == decides);
    out.set(i, isAnd ? a & b : a | b, !settled && (ua || ub));
  }
}

void magnitude(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Whole a = in[0]->integer[i];
    out.set(i, a < 0 ? subtract(0, a) : a, in[0]->unsure[i]);
  }
}

void signExtension(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i)
    out.set(i, in[0]->width == 1 ? -in[0]->integer[i] : in[0]->integer[i],
            in[0]->unsure[i]);
}
void zeroExtension(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  uint64_t mask =
      in[0]->width < 64 ? (uint64_t(1) << in[0]->width) - 1 : ~uint64_t(0);
  for (size_t i = 0; i < n; ++i)
    out.set(i, static_cast<uint64_t>(in[0]->integer[i]) & mask,
            in[0]->unsure[i]);
}

bool compare(mlir::arith::CmpIPredicate predicate, Whole a, Whole b) {
  using P = mlir::arith::CmpIPredicate;
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  return false;
}
void comparison(mlir::Operation *op, Operands in, Lanes &out, size_t n) {
  auto predicate = mlir::cast<mlir::arith::CmpIOp>(op).getPredicate();
  for (size_t i = 0; i < n; ++i)
    out.set(i, compare(predicate, in[0]->integer[i], in[1]->integer[i]),
            in[0]->unsure[i] | in[1]->unsure[i]);
}

void selection(mlir::Operation *, Operands in, Lanes &out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    bool first = in[0]->integer[i], unsure = in[0]->unsure[i];
    const Lanes &taken = *in[first ? 1 : 2], &other = *in[first ? 2 : 1];
    if (out.kind == Kind::Number) {
      out.set(i, unsure ? either(taken.number(i), other.number(i))
                        : taken.number(i));
      continue;
    }
    bool differ = taken.integer[i] != other.integer[i] || other.unsure[i];
    out.set(i, taken.integer[i], taken.unsure[i] || (unsure && differ));
  }
}

void constant(mlir::Operation *op, Operands, Lanes &out, size_t n) {
  mlir::Attribute attribute =
      mlir::cast<mlir::arith::ConstantOp>(op).getValue();
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(attribute))
    out.value.assign(n, number.getValueAsDouble());
  if (auto whole = mlir::dyn_cast<mlir::IntegerAttr>(attribute))
    for (size_t i = 0; i < n; ++i)
      out.set(i, whole.getValue().getSExtValue(), false);
}
} // namespace

void addIntegerFunctions(ScalarTable &table) {
  table["arith.addi"] = binary<add>;
  table["arith.subi"] = binary<subtract>;
  table["arith.muli"] = binary<multiply>;
  table["arith.divsi"] = guarded<truncatedQuotient, isZero>;
  table["arith.remsi"] = guarded<truncatedRemainder, isZero>;
  table["arith.divui"] = guarded<unsignedQuotient, isZero>;
  table["arith.remui"] = guarded<unsignedRemainder, isZero>;
  table["arith.floordivsi"] = guarded<floorQuotient, isZero>;
  table["arith.ceildivsi"] = guarded<ceilQuotient, isZero>;
  table["arith.maxsi"] = binary<maximum>;
  table["arith.minsi"] = binary<minimum>;
  table["arith.andi"] = bitwise<true>;
  table["arith.ori"] = bitwise<false>;
  table["arith.xori"] = binary<exclusiveOr>;
  table["arith.shli"] = guarded<shiftLeft, isNoShift>;
  table["arith.shrsi"] = guarded<shiftRight, isNoShift>;
  table["arith.shrui"] = guarded<shiftRightLogical, isNoShift>;
  table["arith.extsi"] = signExtension;
  table["arith.extui"] = zeroExtension;
  table["arith.trunci"] = signExtension;
  table["arith.cmpi"] = comparison;
  table["arith.select"] = selection;
  table["arith.constant"] = constant;
  table["math.absi"] = magnitude;
}

ScalarFunction findScalarFunction(llvm::StringRef operation) {
  static const ScalarTable table = [] {
    ScalarTable table;
    addNumberFunctions(table);
    addIntegerFunctions(table);
    return table;
  }();
  return table.lookup(operation);
}

} // namespace attn::reference
