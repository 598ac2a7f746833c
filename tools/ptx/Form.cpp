// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/ptx/Form.h"
#include "llvm/ADT/STLExtras.h"

namespace attn::ptx {

using llvm::StringRef;

Form::Form(Names &names, const Statement &statement, Instruction &instruction)
    : instruction(instruction), names(names), statement(statement) {
  StringRef(statement.name).split(modifiers, '.');
  mnemonic = modifiers.front();
  modifiers.erase(modifiers.begin());
}

bool Form::take(StringRef modifier) {
  auto found = llvm::find(modifiers, modifier);
  if (found == modifiers.end())
    return false;
  modifiers.erase(found);
  return true;
}

Type Form::takeTypeIf() {
  for (StringRef &modifier : modifiers)
    if (Type type = typeNamed(modifier); type != Type::None) {
      modifiers.erase(&modifier);
      return type;
    }
  return Type::None;
}

Type Form::takeType() {
  Type type = takeTypeIf();
  if (type == Type::None)
    fail("it has no type that is known");
  return type;
}

bool Form::takeRounding() {
  constexpr std::pair<llvm::StringLiteral, Rounding> names[] = {
      {"rn", Rounding::Nearest}, {"rz", Rounding::Zero},     {"rm", Rounding::Down},
      {"rp", Rounding::Up},      {"rni", Rounding::Nearest}, {"rzi", Rounding::Zero},
      {"rmi", Rounding::Down},   {"rpi", Rounding::Up},      {"rna", Rounding::Away}};
  for (auto [name, rounding] : names)
    if (take(name)) {
      instruction.rounding = rounding;
      return true;
    }
  return false;
}

Space Form::takeSpace() {
  constexpr std::pair<llvm::StringLiteral, Space> names[] = {
      {"global", Space::Global},      {"shared", Space::Shared},    {"shared::cta", Space::Shared},
      {"local", Space::Local},        {"const", Space::Const},      {"param", Space::Param},
      {"param::entry", Space::Param}, {"param::func", Space::Param}};
  for (auto [name, space] : names)
    if (take(name))
      return space;
  return Space::Generic;
}

int Form::takeOneOf(llvm::ArrayRef<StringRef> names) {
  for (auto [place, name] : llvm::enumerate(names))
    if (take(name))
      return place;
  return -1;
}

void Form::takeHints() {
  llvm::erase_if(modifiers, [](StringRef modifier) {
    return llvm::is_contained({"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys",
                               "cluster", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "noftz"},
                              modifier) ||
           (modifier.contains("::") && !modifier.ends_with("cache_hint"));
  });
}

void Form::ignore() {
  modifiers.clear();
  expected = size();
}

const SourceOperand &Form::operand(unsigned index) {
  static const SourceOperand none;
  if (index < size())
    return statement.operands[index];
  fail("it has too few operands");
  return none;
}

uint32_t Form::source(const SourceOperand &operand, Type type) {
  auto add = [&](uint32_t index) {
    instruction.from.push_back(index);
    return index;
  };
  switch (operand.kind) {
  case SourceOperand::Name: {
    std::optional<Names::Binding> binding = names.find(operand.name);
    if (!binding) {
      fail("'" + operand.name + "' is not declared");
      return add(0);
    }
    if (binding->space == Space::Register || binding->dynamic) {
      if (operand.bits)
        fail("'" + operand.name + "' plus a number is not an operand");
      return add(binding->value);
    }
    return add(names.constant(binding->value + operand.bits));
  }
  case SourceOperand::Integer:
    if (isFloat(type) && !isPacked(type) && operand.bits)
      fail("a whole number where a float belongs");
    return add(names.constant(operand.bits));
  case SourceOperand::Single:
    return add(names.constant(type == Type::F64 ? toBits(double(fromBits<float>(operand.bits))) : operand.bits));
  case SourceOperand::Double:
    return add(names.constant(type == Type::F32 ? toBits(float(fromBits<double>(operand.bits))) : operand.bits));
  default:
    fail("a register or a number expected as an operand");
    return add(0);
  }
}

uint32_t Form::source(unsigned index, Type type) { return source(operand(index), type); }

uint32_t Form::dest(const SourceOperand &operand) {
  uint32_t result = names.sink();
  if (operand.kind != SourceOperand::Name) {
    fail("a register expected as the result");
  } else if (operand.name != "_") {
    std::optional<Names::Binding> binding = names.find(operand.name);
    if (binding && binding->space == Space::Register)
      result = binding->value;
    else
      fail("'" + operand.name + "' is not a register");
  }
  instruction.to.push_back(result);
  return result;
}

uint32_t Form::dest(unsigned index) { return dest(operand(index)); }

void Form::sources(unsigned index, Type type, unsigned count) {
  const SourceOperand &whole = operand(index);
  if (whole.kind != SourceOperand::Vector && count == 1) {
    source(whole, type);
    return;
  }
  if (whole.elements.size() != count)
    fail("a vector of " + llvm::Twine(count) + " expected");
  for (const SourceOperand &element : whole.elements)
    source(element, type);
}

void Form::dests(unsigned index, unsigned count) {
  const SourceOperand &whole = operand(index);
  if (whole.kind != SourceOperand::Vector && count == 1) {
    dest(whole);
    return;
  }
  if (whole.elements.size() != count)
    fail("a vector of " + llvm::Twine(count) + " expected");
  for (const SourceOperand &element : whole.elements)
    dest(element);
}

void Form::address(unsigned index, Space &space) {
  const SourceOperand &whole = operand(index);
  if (whole.kind != SourceOperand::Address) {
    fail("an address in brackets expected");
    return;
  }
  instruction.offset = int64_t(whole.bits);
  if (whole.name.empty()) {
    instruction.from.push_back(names.constant(0));
    return;
  }
  std::optional<Names::Binding> binding = names.find(whole.name);
  if (!binding) {
    fail("'" + whole.name + "' is not declared");
    return;
  }
  if (binding->space == Space::Register) {
    // A register of 32 bits may hold anything above them.
    instruction.narrowAddress = typeBytes(binding->type) == 4;
    instruction.from.push_back(binding->value);
    return;
  }
  space = binding->space;
  instruction.from.push_back(binding->dynamic ? uint32_t(binding->value) : names.constant(binding->value));
}

uint64_t Form::literal(unsigned index) {
  const SourceOperand &whole = operand(index);
  if (whole.kind != SourceOperand::Integer)
    fail("a number expected as an operand");
  return whole.bits;
}

void Form::branch(unsigned index) { names.branch(operand(index).name); }

Type Form::declared(unsigned index) {
  const SourceOperand &whole = operand(index);
  std::optional<Names::Binding> binding;
  if (whole.kind == SourceOperand::Name)
    binding = names.find(whole.name);
  return binding && binding->space == Space::Register ? binding->type : Type::None;
}

void Form::fail(const llvm::Twine &why) {
  if (reason.empty())
    reason = why.str();
}

llvm::Error Form::finish(unsigned operands) {
  if (reason.empty() && !modifiers.empty())
    reason = ("'." + modifiers.front() + "' is not simulated").str();
  if (reason.empty() && operands != size())
    reason = ("it has " + llvm::Twine(size()) + " operands, " + llvm::Twine(operands) + " expected").str();
  if (reason.empty())
    return llvm::Error::success();
  return errorAt(statement.line, "'" + llvm::Twine(statement.name) + "': " + reason);
}

Decode findDecoder(StringRef mnemonic) {
  static const llvm::StringMap<Decode> table = [] {
    llvm::StringMap<Decode> table;
    for (auto *add :
         {addIntegerOpcodes, addBitOpcodes, addFloatOpcodes, addCompareOpcodes, addConvertOpcodes, addMoveOpcodes,
          addMemoryOpcodes, addAtomicOpcodes, addCopyOpcodes, addMatrixOpcodes, addExchangeOpcodes, addControlOpcodes})
      add(table);
    return table;
  }();
  return table.lookup(mnemonic);
}

} // namespace attn::ptx
