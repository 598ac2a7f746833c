// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the decoders of instruction groups see: one statement, whose modifiers they take one by one and whose operands
// they turn into registers. What is left over at the end is not simulated, and said so.
#ifndef ATTN_TOOLS_PTX_FORM_H
#define ATTN_TOOLS_PTX_FORM_H

#include "tools/ptx/Program.h"

namespace attn::ptx {

/// Where names lead, by scopes. The decoder has it.
class Names {
public:
  virtual ~Names() = default;
  struct Binding {
    Space space = Space::Register;
    Type type = Type::None;
    /// The register, or the place in the space's window.
    uint64_t value = 0;
    /// Of extern shared memory: it is the hidden register `value` that has the address.
    bool dynamic = false;
  };
  virtual std::optional<Binding> find(llvm::StringRef name) = 0;
  virtual uint32_t constant(uint64_t bits) = 0;
  virtual uint32_t sink() = 0;
  virtual void branch(llvm::StringRef label) = 0;
};

class Form {
public:
  Form(Names &names, const Statement &statement, Instruction &instruction);

  Instruction &instruction;
  llvm::StringRef mnemonic;

  /// Takes a modifier, wherever it stands; false when it isn't there.
  bool take(llvm::StringRef modifier);
  /// The next modifier that is a type; fails without one.
  Type takeType();
  /// The same; None without one.
  Type takeTypeIf();
  /// .rn and the like.
  bool takeRounding();
  /// The state space, with `.shared::cta` and its like; Generic without one.
  Space takeSpace();
  /// The first of `names` that is a modifier; its place, or -1.
  int takeOneOf(llvm::ArrayRef<llvm::StringRef> names);
  /// Takes every modifier that only says how to cache or to order an access: execution here is in order.
  void takeHints();
  /// Nothing of this statement matters.
  void ignore();

  unsigned size() const { return statement.operands.size(); }
  /// Fails, and returns an operand that does no harm, beyond the end.
  const SourceOperand &operand(unsigned index);
  bool isVector(unsigned index) { return operand(index).kind == SourceOperand::Vector; }

  /// Add a register to those that are read or written, and return it.
  uint32_t source(unsigned index, Type type);
  uint32_t source(const SourceOperand &operand, Type type);
  uint32_t dest(unsigned index);
  uint32_t dest(const SourceOperand &operand);
  /// Each element of a vector, or the operand itself.
  void sources(unsigned index, Type type, unsigned count);
  void dests(unsigned index, unsigned count);
  /// An address: its base is added to the registers that are read. A variable's space narrows `space`.
  void address(unsigned index, Space &space);
  /// A number that stands in the text.
  uint64_t literal(unsigned index);
  void branch(unsigned index);

  /// The register's declared type; None for anything else.
  Type declared(unsigned index);

  /// Says why this is not simulated. The first reason stays.
  void fail(const llvm::Twine &reason);
  /// Everything has to be taken, and no operand be left.
  llvm::Error finish(unsigned operands);
  bool failed() const { return !reason.empty(); }
  unsigned expected = 0;

private:
  Names &names;
  const Statement &statement;
  llvm::SmallVector<llvm::StringRef, 8> modifiers;
  std::string reason;
};

using Decode = void (*)(Form &form);
/// By mnemonic; null for an instruction that is not simulated. Each decoder sets `form.expected`, the operands.
Decode findDecoder(llvm::StringRef mnemonic);

// One function a file of instructions.
void addIntegerOpcodes(llvm::StringMap<Decode> &table);
void addBitOpcodes(llvm::StringMap<Decode> &table);
void addFloatOpcodes(llvm::StringMap<Decode> &table);
void addCompareOpcodes(llvm::StringMap<Decode> &table);
void addConvertOpcodes(llvm::StringMap<Decode> &table);
void addMoveOpcodes(llvm::StringMap<Decode> &table);
void addMemoryOpcodes(llvm::StringMap<Decode> &table);
void addAtomicOpcodes(llvm::StringMap<Decode> &table);
void addCopyOpcodes(llvm::StringMap<Decode> &table);
void addMatrixOpcodes(llvm::StringMap<Decode> &table);
void addExchangeOpcodes(llvm::StringMap<Decode> &table);
void addControlOpcodes(llvm::StringMap<Decode> &table);

/// Arithmetic whose type is a float; the integer decoders hand over to it.
void decodeFloatArithmetic(Form &form, Type type);

} // namespace attn::ptx

#endif
