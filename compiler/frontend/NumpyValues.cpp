//===- NumpyValues.cpp - the expressions of printed NumPy -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Numpy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>

using namespace attn::language;
using namespace attn::language::numpy;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::string NumpyFunction::axisList(AxisSet axes) const {
  std::vector<std::string> numbers;
  for (unsigned axis : axes.list())
    numbers.push_back(std::to_string(axis));
  return tupleOf(numbers);
}

NumpyFunction::Value NumpyFunction::named(StringRef wanted, Value value) {
  std::string name = nameFor(wanted);
  line(name + " = " + value.text);
  if (value.seen.size() > 24) {
    std::string seen = nameFor(name + "_seen");
    line(seen + " = " + unbracketed(value.seen));
    value.seen = seen;
  }
  return {name, value.seen};
}

/// Values that a statement names, or that are long or read what is written, get a line of their own.
NumpyFunction::Value NumpyFunction::valueOf(const Node *node) {
  unsigned key = node->identity * 2 + node->wide;
  if (auto found = values.find(key); found != values.end())
    return found->second;
  Value value = compute(node);
  bool isShort = node->op == Op::Constant || node->op == Op::Index || node->op == Op::Extent;
  if (!isShort && !node->name.empty())
    value = named(node->name, std::move(value));
  else if (value.text.size() > 60 || (node->op == Op::Read && program.stored[node->stored].mode == Mode::InOut))
    value = named("part" + std::to_string(++parts), std::move(value));
  return values[key] = std::move(value);
}

std::string NumpyFunction::indexText(unsigned axis) {
  if (!program.axes[axis].isRagged())
    indices |= AxisSet::of(axis);
  return indexNames[axis];
}

static std::string numberText(double real) {
  if (std::isinf(real))
    return real > 0 ? "np.inf" : "-np.inf";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), real).ptr);
}

NumpyFunction::Value NumpyFunction::compute(const Node *node) {
  switch (node->op) {
  case Op::Constant:
    if (node->kind == ValueKind::Bool)
      return {node->integer ? "True" : "False", ""};
    if (node->kind == ValueKind::Int)
      return {std::to_string(node->integer), "", node->integer >= 0};
    return {numberText(node->real), "", node->real >= 0};
  case Op::Index:
    return {indexText(node->axis), raggedSeen(AxisSet::of(node->axis))};
  case Op::Extent:
    return {program.axes[node->axis].name + (program.axes[node->axis].isRagged() ? "_of" : ""), ""};
  case Op::Read:
    return read(node);
  case Op::Take:
    return take(node);
  case Op::Rename: {
    Value value = valueOf(node->operands[0]);
    for (auto [from, to] : llvm::zip(node->taken, node->renamed)) {
      std::string axes = ".swapaxes(" + std::to_string(from) + ", " + std::to_string(to) + ")";
      value.text = value.atom() + axes;
      value.isAtom = true;
      if (!value.seen.empty())
        value.seen = "(" + value.seen + ")" + axes;
    }
    return value;
  }
  case Op::ToFloat:
    return valueOf(node->operands[0]);
  case Op::Pointwise:
    return pointwise(node);
  case Op::Select:
    return select(node);
  case Op::And:
  case Op::Or:
    return connective(node);
  case Op::Where: {
    Value condition = valueOf(node->operands[1]);
    Value value = valueOf(node->operands[0]);
    value.seen = joined(joined(value.seen, condition.seen), bracketed(condition.text));
    return value;
  }
  case Op::Contract:
    return contract(node);
  case Op::Reduce:
    return reduce(node);
  case Op::Softmax:
  case Op::LogSumExp:
    return normalise(node);
  case Op::Rope:
    return rope(node);
  case Op::Poison:
    break;
  }
  llvm_unreachable("poison never gets here");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The index runs along an axis with the extent of this factor.
static bool isAlong(const Program &program, const Extent &factor, const Node *index) {
  return index->op == Op::Index && factor.kind() == Extent::Kind::Axis && program.sameExtent(factor.axis(), index->axis);
}

std::vector<std::string> NumpyFunction::places(unsigned stored, llvm::ArrayRef<Value> indexValues, llvm::ArrayRef<Node *> nodes,
                                  std::string &seen, bool &isInside) {
  std::vector<std::string> dims;
  unsigned next = 0;
  for (const std::vector<Extent> &dim : program.stored[stored].dims) {
    std::string place;
    for (unsigned f = 0; f < dim.size(); ++f, ++next) {
      const Value &index = indexValues[next];
      const Extent &factor = dim[f];
      bool isRagged = factor.kind() == Extent::Kind::Axis && program.axes[factor.axis()].isRagged();
      std::string extent = factor.isBinary() ? "(" + extentText(factor) + ")" : extentText(factor);
      if (isRagged && dim.size() > 1)
        extent = program.axes[factor.axis()].name + "_of.ravel()[" + place + "]";
      if (!isAlong(program, factor, nodes[next])) {
        isInside = false;
        seen = joined(seen, "(0 <= " + index.atom() + ") & (" + index.atom() + " < " + extent + ")");
      }
      isInside &= !isRagged || dim.size() == 1;
      if (isRagged && dim.size() > 1)
        place = program.axes[factor.axis()].name + "_start[" + place + "] + " + index.atom();
      else
        place = place.empty() ? index.text : (f > 1 ? "(" + place + ")" : indexValues[next - 1].atom()) + " * " + extent +
                                                 " + " + index.atom();
    }
    dims.push_back(place);
  }
  return dims;
}

NumpyFunction::Value NumpyFunction::read(const Node *node) {
  const Stored &stored = program.stored[node->stored];
  std::vector<Value> indexValues;
  std::string seen;
  for (Node *index : node->operands) {
    indexValues.push_back(valueOf(index));
    seen = joined(seen, indexValues.back().seen);
  }
  std::string name = storedNames[node->stored];
  if (indexValues.empty() && stored.mode == Mode::In)
    return {name, ""};
  std::string inside;
  bool isInside = true;
  std::string where = llvm::join(places(node->stored, indexValues, node->operands, inside, isInside), ", ");
  Value value{isInside ? name + "[" + where + "]" : helper("_at") + "(" + name + ", " + where + ")", joined(seen, inside)};
  if (stored.mode == Mode::InOut && kindOf(stored.dtype) != ValueKind::Bool)
    value.text += kindOf(stored.dtype) == ValueKind::Float ? ".astype(float)" : ".astype(np.int64)";
  return value;
}

NumpyFunction::Value NumpyFunction::take(const Node *node) {
  Value value = valueOf(node->operands[0]);
  std::string where, seen;
  bool isInside = true;
  for (unsigned axis = 0; axis < program.axes.size(); ++axis) {
    const auto *taken = llvm::find(node->taken, axis);
    std::string place = "0";
    if (taken != node->taken.end()) {
      const Node *index = node->operands[1 + (taken - node->taken.begin())];
      Value by = valueOf(index);
      place = by.text;
      seen = joined(seen, by.seen);
      bool isOwn = index->op == Op::Index && program.sameExtent(index->axis, axis);
      if (!isOwn) {
        isInside = false;
        std::string extent = program.axes[axis].name + (program.axes[axis].isRagged() ? "_of" : "");
        seen = joined(seen, "(0 <= " + by.atom() + ") & (" + by.atom() + " < " + extent + ")");
      }
    } else if (node->operands[0]->axes.has(axis)) {
      place = indexText(axis);
    }
    where += (where.empty() ? "" : ", ") + place;
  }
  auto at = [&](const std::string &array) {
    return isInside ? "np.asarray(" + array + ")[" + where + "]" : helper("_at") + "(" + array + ", " + where + ")";
  };
  std::string present = value.seen.empty() ? "" : at("np.broadcast_to(" + value.seen + ", " + value.atom() + ".shape)");
  return {at(value.text), joined(seen, present)};
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static const char *operatorFor(Function function) {
  switch (function) {
  case Function::Add: return " + ";
  case Function::Sub: return " - ";
  case Function::Mul: return " * ";
  case Function::Div: return " / ";
  case Function::IntDiv: return " // ";
  case Function::Mod: return " % ";
  case Function::BitAnd: return " & ";
  case Function::BitOr: return " | ";
  case Function::BitXor: return " ^ ";
  case Function::ShiftLeft: return " << ";
  case Function::ShiftRight: return " >> ";
  case Function::Less: return " < ";
  case Function::LessEqual: return " <= ";
  case Function::Greater: return " > ";
  case Function::GreaterEqual: return " >= ";
  case Function::Equal: return " == ";
  case Function::NotEqual: return " != ";
  default: return nullptr;
  }
}

static const char *callFor(Function function) {
  switch (function) {
  case Function::Not: return "np.logical_not";
  case Function::Exp: return "np.exp";
  case Function::Log: return "np.log";
  case Function::Sqrt: return "np.sqrt";
  case Function::Tanh: return "np.tanh";
  case Function::Sin: return "np.sin";
  case Function::Cos: return "np.cos";
  case Function::Abs: return "np.abs";
  case Function::Floor: return "np.floor";
  case Function::Round: return "np.rint";
  case Function::ToInt: return "_int";
  case Function::Min: return "np.minimum";
  case Function::Max: return "np.maximum";
  default: return "_random";
  }
}

NumpyFunction::Value NumpyFunction::pointwise(const Node *node) {
  std::vector<Value> operands;
  std::string seen;
  for (const Node *operand : node->operands) {
    operands.push_back(valueOf(operand));
    seen = joined(seen, operands.back().seen);
  }
  if (const char *sign = operatorFor(node->function)) {
    std::string right = operands[1].atom();
    if (node->function == Function::Mod && !(node->operands[1]->folded.value_or(0) > 0))
      right = "np.abs(" + operands[1].text + ")";
    return {operands[0].atom() + sign + right, seen, false};
  }
  if (node->function == Function::Negate)
    return {"-" + operands[0].atom(), seen, false};
  if (node->function == Function::Rsqrt)
    return {"1 / np.sqrt(" + operands[0].text + ")", seen, false};
  if (node->function == Function::Sigmoid)
    return {"1 / (1 + np.exp(-" + operands[0].atom() + "))", seen, false};
  std::string call = callFor(node->function);
  if (call.front() == '_')
    helper(call);
  llvm::ListSeparator comma;
  std::string text = call + "(";
  for (Value &operand : operands)
    text += (StringRef(comma) + operand.text).str();
  return {text + ")", seen};
}

NumpyFunction::Value NumpyFunction::select(const Node *node) {
  Value condition = valueOf(node->operands[0]), yes = valueOf(node->operands[1]), no = valueOf(node->operands[2]);
  std::string seen = condition.seen;
  if (!yes.seen.empty() || !no.seen.empty())
    seen = joined(seen, "np.where(" + condition.text + ", " + (yes.seen.empty() ? "True" : yes.seen) + ", " +
                            (no.seen.empty() ? "True" : no.seen) + ")");
  return {"np.where(" + condition.text + ", " + yes.text + ", " + no.text + ")", seen};
}

/// The right side counts only where the left one leaves it open.
NumpyFunction::Value NumpyFunction::connective(const Node *node) {
  Value left = valueOf(node->operands[0]), right = valueOf(node->operands[1]);
  bool isAnd = node->op == Op::And;
  std::string seen = left.seen;
  if (!right.seen.empty())
    seen = joined(seen, "(" + std::string(isAnd ? "np.logical_not(" + left.text + ")" : left.atom()) + " | " + right.seen + ")");
  return {left.atom() + (isAnd ? " & " : " | ") + right.atom(), seen, false};
}

//===----------------------------------------------------------------------===//
// Contractions and reductions
//===----------------------------------------------------------------------===//

NumpyFunction::Value NumpyFunction::contract(const Node *node) {
  Value left = valueOf(node->operands[0]), right = valueOf(node->operands[1]);
  std::string seen = joined(left.seen, right.seen);
  return {helper("_dot") + "(" + left.text + ", " + right.text + ", " + axisList(node->over) +
              (seen.empty() ? "" : ", " + unbracketed(seen)) + ")",
          raggedSeen(node->axes)};
}

NumpyFunction::Value NumpyFunction::reduce(const Node *node) {
  Value value = valueOf(node->operands[0]);
  std::string over = axisList(node->over);
  if (node->reduction == Reduction::Mean)
    return {helper("_mean") + "(" + value.text + ", " + over + (value.seen.empty() ? "" : ", " + unbracketed(value.seen)) + ")",
            raggedSeen(node->axes)};
  const char *nothing = node->reduction == Reduction::Sum   ? "0"
                        : node->reduction == Reduction::Max ? "-np.inf"
                                                            : "np.inf";
  std::string kept = value.seen.empty() ? value.atom() : "np.where(" + unbracketed(value.seen) + ", " + value.text + ", " + nothing + ")";
  const char *call = node->reduction == Reduction::Sum ? ".sum(" : node->reduction == Reduction::Max ? ".max(" : ".min(";
  return {kept + call + over + ", keepdims=True" + (node->reduction == Reduction::Sum ? "" : std::string(", initial=") + nothing) +
              ")",
          raggedSeen(node->axes)};
}

NumpyFunction::Value NumpyFunction::normalise(const Node *node) {
  Value score = valueOf(node->operands[0]);
  std::string more = score.seen.empty() ? "" : ", " + unbracketed(score.seen);
  if (node->operands.size() > 1) {
    Value sink = valueOf(node->operands[1]);
    more += ", sink=" + (sink.seen.empty() ? sink.text : "np.where(" + sink.seen + ", " + sink.text + ", -np.inf)");
  }
  bool isSoftmax = node->op == Op::Softmax;
  return {helper(isSoftmax ? "_softmax" : "_logsumexp") + "(" + score.text + ", " + axisList(node->over) + more + ")",
          isSoftmax ? score.seen : raggedSeen(node->axes)};
}

NumpyFunction::Value NumpyFunction::rope(const Node *node) {
  Value value = valueOf(node->operands[0]), cosine = valueOf(node->operands[1]), sine = valueOf(node->operands[2]);
  return {helper("_rope") + "(" + value.text + ", " + cosine.text + ", " + sine.text + ", " + std::to_string(node->axis) +
              ", " + std::to_string(node->pairAxis) + (node->interleaved ? ", interleaved=True" : "") + ")",
          value.seen};
}
