//===- Numpy.cpp - a program as plain NumPy ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Numpy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace attn::language;
using namespace attn::language::numpy;
using llvm::StringRef;

static constexpr StringRef reserved[] = {
    "and",  "as",     "assert", "async",  "await", "break",  "class", "continue", "def",   "del",
    "elif", "else",   "except", "finally", "for",  "from",   "global", "if",      "import", "in",
    "is",   "lambda", "nonlocal", "not",  "np",    "or",     "pass",  "raise",    "return", "try",
    "while", "with",  "yield",  "float",  "int",   "bool"};

std::string attn::language::printNumpy(llvm::ArrayRef<const Program *> programs) {
  llvm::StringSet<> helpers;
  std::string functions;
  for (const Program *program : programs)
    functions += "\n\n" + NumpyFunction(*program, helpers).print();
  return "import numpy as np\n" + numpyHelpers(helpers) + functions;
}

/// The parts of a conjunction, which stand outside of all parentheses.
static std::vector<std::string> partsOf(StringRef condition) {
  std::vector<std::string> parts;
  size_t first = 0;
  int depth = 0;
  for (size_t i = 0; i < condition.size(); ++i) {
    depth += condition[i] == '(' || condition[i] == '[' ? 1 : condition[i] == ')' || condition[i] == ']' ? -1 : 0;
    if (depth == 0 && condition.substr(i).starts_with(" & ")) {
      parts.push_back(condition.slice(first, i).str());
      first = i + 3;
    }
  }
  if (first < condition.size())
    parts.push_back(condition.substr(first).str());
  return parts;
}

std::string numpy::joined(StringRef a, StringRef b) {
  std::vector<std::string> parts = partsOf(a);
  for (std::string &part : partsOf(b))
    if (!llvm::is_contained(parts, part))
      parts.push_back(std::move(part));
  return llvm::join(parts, " & ");
}

std::string numpy::unbracketed(StringRef condition) {
  int depth = 0;
  for (auto [i, c] : llvm::enumerate(condition)) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0 && i + 1 < condition.size())
      return condition.str();
  }
  return condition.drop_front().drop_back().str();
}

std::string numpy::tupleOf(llvm::ArrayRef<std::string> items) {
  return "(" + llvm::join(items, ", ") + (items.size() == 1 ? ",)" : ")");
}

std::string NumpyFunction::helper(StringRef name) {
  helpers.insert(name);
  return name.str();
}

std::string NumpyFunction::nameFor(StringRef wanted) {
  std::string name = wanted.str();
  while (llvm::is_contained(reserved, name) || !taken.insert(name).second)
    name += "_";
  return name;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::string NumpyFunction::print() {
  for (const Axis &axis : program.axes)
    taken.insert(axis.name);
  for (const Axis &axis : program.axes)
    indexNames.push_back(nameFor(axis.isInternal ? "pair" : axis.index));
  for (const Stored &stored : program.stored)
    storedNames.push_back(nameFor(stored.name));
  std::string head = "@np.errstate(all=\"ignore\")\ndef " + nameFor(program.name) + "(";
  llvm::ListSeparator comma;
  for (const std::string &name : llvm::ArrayRef(storedNames).take_front(program.numParams))
    head += (StringRef(comma) + name).str();
  head += "):\n    # Every array has one dimension for each axis, in this order:";
  for (const Axis &axis : program.axes)
    head += " " + axis.name;
  head += ".\n";
  printExtents();
  std::string extents = std::move(body);
  body.clear();
  printRagged();
  for (const Step &step : program.steps)
    printStep(step);
  std::string rest = std::move(body);
  body.clear();
  for (unsigned axis : indices.list())
    line(indexNames[axis] + " = " + helper("_axis") + "(" + program.axes[axis].name + ", " + llvm::Twine(axis) + ", " +
         llvm::Twine(program.axes.size()) + ")");
  std::string returned;
  llvm::ListSeparator between;
  for (auto [stored, name] : llvm::zip(program.stored, storedNames))
    if (stored.mode != Mode::In)
      returned += (StringRef(between) + name).str();
  return head + extents + body + rest + "    return " + returned + "\n";
}

std::string NumpyFunction::extentText(const Extent &extent) {
  switch (extent.kind()) {
  case Extent::Kind::Constant:
    return std::to_string(extent.value());
  case Extent::Kind::Axis:
    return program.axes[extent.axis()].name;
  case Extent::Kind::Dim:
    return storedNames[extent.arg()] + ".shape[" + std::to_string(extent.dim()) + "]";
  default:
    break;
  }
  auto side = [&](const Extent &part) { return part.isBinary() ? "(" + extentText(part) + ")" : extentText(part); };
  const char *sign = extent.kind() == Extent::Kind::Add   ? " + "
                     : extent.kind() == Extent::Kind::Sub ? " - "
                     : extent.kind() == Extent::Kind::Mul ? " * "
                     : extent.kind() == Extent::Kind::Div ? " // "
                                                          : " % ";
  return side(extent.lhs()) + sign + side(extent.rhs());
}

void NumpyFunction::printExtents() {
  for (unsigned number : program.axisOrder)
    if (const Axis &axis = program.axes[number]; axis.extent)
      line(axis.name + " = " + extentText(*axis.extent));
  for (const AxisFact &fact : program.checks)
    line("assert " + program.axes[fact.axis].name + " == " + extentText(fact.extent));
  for (unsigned i = 0; i < program.numParams; ++i) {
    const Stored &stored = program.stored[i];
    if (stored.mode != Mode::In)
      continue;
    StringRef type = kindOf(stored.dtype) == ValueKind::Float ? "float"
                     : kindOf(stored.dtype) == ValueKind::Int ? "np.int64"
                                                              : "bool";
    line(storedNames[i] + " = np.asarray(" + storedNames[i] + ", " + type + ")");
  }
}

bool NumpyFunction::isPacked(unsigned axis) const {
  for (const Stored &stored : program.stored)
    for (const std::vector<Extent> &dim : stored.dims)
      if (dim.size() > 1 && llvm::any_of(dim, [&](const Extent &factor) { return factor.isAxis(axis); }))
        return true;
  return false;
}

/// That the indices of ragged axes lie within the extents.
std::string NumpyFunction::raggedSeen(AxisSet axes) const {
  std::string seen;
  for (unsigned axis : axes.list())
    if (program.axes[axis].isRagged())
      seen = joined(seen, "(" + indexNames[axis] + " < " + program.axes[axis].name + "_of)");
  return seen;
}

/// Of a ragged axis: T_of, its extents over what they depend on, and T, the longest. Packed ones also have T_start.
void NumpyFunction::printRagged() {
  for (unsigned number : program.axisOrder) {
    const Axis &axis = program.axes[number];
    if (!axis.raggedExtent)
      continue;
    line(axis.name + "_of = np.asarray(" + valueOf(axis.raggedExtent).text + ")");
    if (isPacked(number))
      line(axis.name + "_start = np.cumsum(" + axis.name + "_of) - " + axis.name + "_of.ravel()");
    line(axis.name + " = int(" + axis.name + "_of.max(initial=0))");
    line(indexNames[number] + " = " + helper("_axis") + "(" + axis.name + ", " + llvm::Twine(number) + ", " +
         llvm::Twine(program.axes.size()) + ")");
  }
  for (const Requirement &requirement : program.requirements)
    line("assert np.all(" + valueOf(requirement.condition).text + ")");
}

/// The elements that a dimension holds.
std::string NumpyFunction::sizeOf(const std::vector<Extent> &dim) {
  std::string text;
  for (const Extent &factor : dim) {
    bool isRagged = factor.kind() == Extent::Kind::Axis && program.axes[factor.axis()].isRagged();
    if (isRagged && dim.size() > 1) {
      // Behind the axis that it depends on: their product is the sum of its extents.
      text = program.axes[factor.axis()].name + "_of.sum()";
      continue;
    }
    std::string own = factor.isBinary() ? "(" + extentText(factor) + ")" : extentText(factor);
    text = text.empty() ? own : text + " * " + own;
  }
  return text;
}

void NumpyFunction::printStep(const Step &step) {
  Value value = valueOf(step.value);
  if (!step.isWrite)
    return;
  const Stored &stored = program.stored[step.stored];
  std::string seen = value.seen, inside;
  std::vector<Value> indexValues;
  for (Node *index : step.indices) {
    indexValues.push_back(valueOf(index));
    seen = joined(seen, indexValues.back().seen);
  }
  bool isInside = true;
  std::vector<std::string> where = places(step.stored, indexValues, step.indices, inside, isInside);
  if (step.condition) {
    Value condition = valueOf(step.condition);
    seen = joined(joined(seen, condition.seen), bracketed(condition.text));
  }
  if (stored.mode == Mode::Out) {
    std::vector<std::string> dims;
    for (const std::vector<Extent> &dim : stored.dims)
      dims.push_back(sizeOf(dim));
    StringRef type = kindOf(stored.dtype) == ValueKind::Float  ? "float"
                     : stored.dtype == Dtype::Bool             ? "bool"
                     : stored.dtype == Dtype::I8               ? "np.int8"
                     : stored.dtype == Dtype::U8               ? "np.uint8"
                     : stored.dtype == Dtype::I32              ? "np.int32"
                                                               : "np.int64";
    // The value may have the result's own name.
    std::string values = value.text == storedNames[step.stored] ? nameFor(value.text + "_value") : value.text;
    if (values != value.text)
      line(values + " = " + value.text);
    line(storedNames[step.stored] + " = np.zeros(" + tupleOf(dims) + ", " + type + ")");
    value.text = values;
  }
  line(helper("_store") + "(" + storedNames[step.stored] + ", " + tupleOf(where) + ", " + value.text +
       (seen.empty() ? "" : ", " + unbracketed(seen)) + ")");
}
