// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX text as a tree: what stands in the file, names unresolved. Knows the syntax, no instruction.
#ifndef ATTN_TOOLS_PTX_SOURCE_H
#define ATTN_TOOLS_PTX_SOURCE_H

#include "tools/ptx/Type.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::ptx {

/// An operand as written. An address has its base in `name` (empty for an absolute one) and its offset in `bits`.
struct SourceOperand {
  enum Kind { Name, Integer, Single, Double, Address, Vector } kind = Name;
  std::string name;
  /// Of a predicate: `!p`.
  bool negated = false;
  uint64_t bits = 0;
  /// The elements of `{a, b}`, of a call's `(a, b)` too, and both of `p|q`.
  std::vector<SourceOperand> elements;
  /// The second of `p|q`.
  bool pair = false;
};

/// A variable of any state space. Registers `%r<4>` are one variable with `count` 4 and `family` set.
struct Variable {
  std::string name;
  Space space = Space::Register;
  Type type = Type::None;
  unsigned line = 0;
  uint64_t align = 1;
  /// Elements; 0 for `[]`, whose size the launch gives.
  uint64_t count = 1;
  bool family = false;
  /// An element's value: a number, or the address of a variable plus a number.
  struct Initial {
    uint64_t bits = 0;
    std::string symbol;
    bool generic = false;
  };
  std::vector<Initial> initial;

  uint64_t bytes() const { return count * typeBytes(type); }
};

struct Statement {
  enum Kind { Label, Declaration, Instruction, Open, Close } kind = Instruction;
  unsigned line = 0;
  /// Of a label its name; of an instruction the mnemonic with its modifiers, such as `ld.global.v4.f32`.
  std::string name;
  /// Empty, or the predicate of `@p`.
  std::string guard;
  bool guardNegated = false;
  std::vector<SourceOperand> operands;
  std::vector<Variable> variables;
};

struct Function {
  std::string name;
  bool isEntry = false;
  bool hasBody = false;
  unsigned line = 0;
  std::vector<Variable> results, parameters;
  std::vector<Statement> body;
  /// `.reqntid`, or 0.
  std::array<unsigned, 3> requiredThreads = {0, 0, 0};
  /// `.maxntid` as a product, or 0.
  unsigned maxThreads = 0;
};

/// One file of PTX.
struct Module {
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<Function> functions;

  /// Errors begin with the line: `12: ...`.
  static llvm::Expected<Module> parse(llvm::StringRef text);

  const Function *find(llvm::StringRef name) const;
  const Variable *findVariable(llvm::StringRef name) const;
};

/// `line: message`.
llvm::Error errorAt(unsigned line, const llvm::Twine &message);

} // namespace attn::ptx

#endif
