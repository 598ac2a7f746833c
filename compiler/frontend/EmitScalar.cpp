//===- EmitScalar.cpp - scalar operations inside a map ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers: `/` floors, `%` is never negative, a divisor 0 counts as 1. Guards stand only
// where the divisor is not a number, so that later stages see affine expressions.
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Emit.h"

using namespace mlir;
using namespace attn;
using attn::language::Function;
using attn::language::Node;
using attn::language::ValueKind;

TypedAttr attn::language::numberAttr(const Node *constant, Type element) {
  mlir::Builder builder(element.getContext());
  if (isa<FloatType>(element))
    return builder.getFloatAttr(element, constant->real);
  int64_t value = constant->folded.value_or(constant->integer);
  return builder.getIntegerAttr(element, value);
}

namespace {
/// Builds scalars of one element at one place.
struct Scalars {
  OpBuilder &builder;
  Location location;
  Type element;

  Value constant(int64_t value) {
    TypedAttr attr = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, double(value)))
                                             : TypedAttr(builder.getIntegerAttr(element, value));
    return arith::ConstantOp::create(builder, location, attr);
  }
  template <typename Op>
  Value unary(Value a) {
    return Op::create(builder, location, a);
  }
  template <typename Op>
  Value binary(Value a, Value b) {
    return Op::create(builder, location, a, b);
  }
  Value choose(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, location, condition, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, location, predicate, a, b);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, location, predicate, a, b);
  }

  /// The divisor of an integer quotient, or its size for a remainder, with 1 for 0.
  Value divisor(const Node *node, Value value) {
    bool remainder = node->function == Function::Mod;
    std::optional<int64_t> number = node->operands[1]->folded;
    if (number && *number != 0 && *number != std::numeric_limits<int64_t>::min())
      return remainder && *number < 0 ? constant(-*number) : value;
    if (remainder)
      value = unary<math::AbsIOp>(value);
    return choose(compare(arith::CmpIPredicate::eq, value, constant(0)), constant(1), value);
  }

  Value integerRemainder(const Node *node, Value a, Value b) {
    b = divisor(node, b);
    Value quotient = binary<arith::FloorDivSIOp>(a, b);
    return binary<arith::SubIOp>(a, binary<arith::MulIOp>(b, quotient));
  }

  Value floatRemainder(Value a, Value b) {
    b = unary<math::AbsFOp>(b);
    b = choose(compare(arith::CmpFPredicate::OEQ, b, constant(0)), constant(1), b);
    Value quotient = unary<math::FloorOp>(binary<arith::DivFOp>(a, b));
    return binary<arith::SubFOp>(a, binary<arith::MulFOp>(b, quotient));
  }

  /// Amounts outside of 0..63 shift everything out.
  Value shift(const Node *node, Value a, Value amount) {
    bool left = node->function == Function::ShiftLeft;
    std::optional<int64_t> number = node->operands[1]->folded;
    if (number && *number >= 0 && *number < 64)
      return left ? binary<arith::ShLIOp>(a, amount) : binary<arith::ShRSIOp>(a, amount);
    Value inRange = compare(arith::CmpIPredicate::ult, amount, constant(64));
    Value safe = choose(inRange, amount, constant(63));
    if (left)
      return choose(inRange, binary<arith::ShLIOp>(a, safe), constant(0));
    return binary<arith::ShRSIOp>(a, safe);
  }

  /// Towards zero; what no 64-bit integer holds, NaN included, gives 0.
  Value truncate(Value a, Type integer) {
    Value limit = arith::ConstantOp::create(builder, location, builder.getFloatAttr(a.getType(), 0x1p63));
    Value zero = arith::ConstantOp::create(builder, location, builder.getFloatAttr(a.getType(), 0.0));
    Value fits = compare(arith::CmpFPredicate::OLT, unary<math::AbsFOp>(a), limit);
    return arith::FPToSIOp::create(builder, location, integer, choose(fits, a, zero));
  }

  Value sigmoid(Value a) {
    Value one = constant(1);
    return binary<arith::DivFOp>(one, binary<arith::AddFOp>(one, unary<math::ExpOp>(unary<arith::NegFOp>(a))));
  }
};
} // namespace

static arith::CmpIPredicate integerPredicate(Function function) {
  switch (function) {
  case Function::Less:
    return arith::CmpIPredicate::slt;
  case Function::LessEqual:
    return arith::CmpIPredicate::sle;
  case Function::Greater:
    return arith::CmpIPredicate::sgt;
  case Function::GreaterEqual:
    return arith::CmpIPredicate::sge;
  case Function::Equal:
    return arith::CmpIPredicate::eq;
  default:
    return arith::CmpIPredicate::ne;
  }
}

static arith::CmpFPredicate floatPredicate(Function function) {
  switch (function) {
  case Function::Less:
    return arith::CmpFPredicate::OLT;
  case Function::LessEqual:
    return arith::CmpFPredicate::OLE;
  case Function::Greater:
    return arith::CmpFPredicate::OGT;
  case Function::GreaterEqual:
    return arith::CmpFPredicate::OGE;
  case Function::Equal:
    return arith::CmpFPredicate::OEQ;
  default:
    return arith::CmpFPredicate::UNE;
  }
}

static Value emitInteger(const Node *node, ArrayRef<Value> operands, Scalars scalars) {
  Value a = operands[0], b = operands.size() > 1 ? operands[1] : Value();
  switch (node->function) {
  case Function::Add:
    return scalars.binary<arith::AddIOp>(a, b);
  case Function::Sub:
    return scalars.binary<arith::SubIOp>(a, b);
  case Function::Mul:
    return scalars.binary<arith::MulIOp>(a, b);
  case Function::IntDiv:
    return scalars.binary<arith::FloorDivSIOp>(a, scalars.divisor(node, b));
  case Function::Mod:
    return scalars.integerRemainder(node, a, b);
  case Function::Negate:
    return scalars.binary<arith::SubIOp>(scalars.constant(0), a);
  case Function::Abs:
    return scalars.unary<math::AbsIOp>(a);
  case Function::Min:
    return scalars.binary<arith::MinSIOp>(a, b);
  case Function::Max:
    return scalars.binary<arith::MaxSIOp>(a, b);
  case Function::BitAnd:
    return scalars.binary<arith::AndIOp>(a, b);
  case Function::BitOr:
    return scalars.binary<arith::OrIOp>(a, b);
  case Function::BitXor:
    return scalars.binary<arith::XOrIOp>(a, b);
  default:
    return scalars.shift(node, a, b);
  }
}

static Value emitFloat(const Node *node, ArrayRef<Value> operands, Scalars scalars) {
  Value a = operands[0], b = operands.size() > 1 ? operands[1] : Value();
  switch (node->function) {
  case Function::Add:
    return scalars.binary<arith::AddFOp>(a, b);
  case Function::Sub:
    return scalars.binary<arith::SubFOp>(a, b);
  case Function::Mul:
    return scalars.binary<arith::MulFOp>(a, b);
  case Function::Div:
    return scalars.binary<arith::DivFOp>(a, b);
  case Function::Mod:
    return scalars.floatRemainder(a, b);
  case Function::Negate:
    return scalars.unary<arith::NegFOp>(a);
  case Function::Exp:
    return scalars.unary<math::ExpOp>(a);
  case Function::Log:
    return scalars.unary<math::LogOp>(a);
  case Function::Sqrt:
    return scalars.unary<math::SqrtOp>(a);
  case Function::Rsqrt:
    return scalars.unary<math::RsqrtOp>(a);
  case Function::Tanh:
    return scalars.unary<math::TanhOp>(a);
  case Function::Sigmoid:
    return scalars.sigmoid(a);
  case Function::Sin:
    return scalars.unary<math::SinOp>(a);
  case Function::Cos:
    return scalars.unary<math::CosOp>(a);
  case Function::Abs:
    return scalars.unary<math::AbsFOp>(a);
  case Function::Floor:
    return scalars.unary<math::FloorOp>(a);
  case Function::Round:
    return scalars.unary<math::RoundEvenOp>(a);
  case Function::Min:
    return scalars.binary<arith::MinimumFOp>(a, b);
  default:
    return scalars.binary<arith::MaximumFOp>(a, b);
  }
}

/// Comparisons and `not`.
static Value emitCondition(const Node *node, ArrayRef<Value> operands, Scalars scalars) {
  if (node->function == Function::Not)
    return scalars.binary<arith::XOrIOp>(operands[0], scalars.constant(1));
  if (isa<FloatType>(operands[0].getType()))
    return scalars.compare(floatPredicate(node->function), operands[0], operands[1]);
  return scalars.compare(integerPredicate(node->function), operands[0], operands[1]);
}

Value attn::language::emitScalar(const Node *node, ArrayRef<Value> operands, Type element, OpBuilder &builder,
                                 Location location) {
  Scalars scalars{builder, location, element};
  if (node->op == language::Op::ToFloat)
    return arith::SIToFPOp::create(builder, location, element, operands[0]);
  if (node->function == Function::ToInt)
    return scalars.truncate(operands[0], element);
  if (node->function == Function::Random)
    return PhiloxOp::create(builder, location, element, operands[0], operands[1]);
  if (node->kind == ValueKind::Bool)
    return emitCondition(node, operands, scalars);
  return node->kind == ValueKind::Int ? emitInteger(node, operands, scalars) : emitFloat(node, operands, scalars);
}
