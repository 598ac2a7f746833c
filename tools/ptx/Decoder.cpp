// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tree of a kernel to instructions. A call becomes the callee's body, with registers of its own; recursion and
// calls through pointers are refused.
#include "tools/ptx/Form.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

namespace attn::ptx {

using llvm::Error;
using llvm::StringRef;

namespace {
struct Scope {
  Scope *parent = nullptr;
  llvm::StringMap<Names::Binding> names;
  llvm::StringMap<uint32_t> labels;
};

// What a program may ask for before anything is known of its launch.
constexpr size_t kMostInstructions = 100'000;
constexpr uint64_t kMostRegisters = 1'000'000, kMostLocalBytes = 512 * 1024;

/// Where a function that was inlined returns to: no name of PTX.
constexpr llvm::StringLiteral kReturn = "<return>";

class Decoder : public Names {
public:
  Decoder(const Module &module, Program &program) : module(module), program(program) {}

  Error run(const Function &entry) {
    program.entry = &entry;
    constant(0);
    scope = newScope(nullptr);
    placeGlobals();
    scope = newScope(scope);
    for (const Variable &parameter : entry.parameters)
      bindPlaced(parameter, Space::Param, program.parameters, program.parameterBytes);
    if (Error error = body(entry))
      return error;
    // Falling off the end is an exit.
    program.code.emplace_back().flow = Flow::Exit;
    program.code.back().kind = Class::Control;
    program.code.back().line = entry.body.empty() ? entry.line : entry.body.back().line;
    if (Error error = resolveBranches())
      return error;
    findJoins(program.code);
    return Error::success();
  }

  // Names.
  std::optional<Binding> find(StringRef name) override {
    for (Scope *in = scope; in; in = in->parent)
      if (auto found = in->names.find(name); found != in->names.end())
        return found->second;
    if (const Variable *variable = module.findVariable(name); variable && variable->space == Space::Shared) {
      // Only the shared memory that this kernel names belongs to it.
      Scope *here = std::exchange(scope, scopes.front().get());
      bindShared(*variable);
      scope = here;
      return scopes.front()->names.lookup(name);
    }
    if (std::optional<Special> special = specialNamed(name)) {
      Binding binding;
      binding.type = name == "%clock64" || name == "%globaltimer" ? Type::U64 : Type::U32;
      binding.value = hidden(*special, 0);
      scopes.front()->names[name] = binding;
      return binding;
    }
    return std::nullopt;
  }
  uint32_t constant(uint64_t bits) override {
    auto [place, isNew] = constants.try_emplace(bits, 0);
    if (isNew)
      place->second = hidden(Special::Constant, bits);
    return place->second;
  }
  uint32_t sink() override {
    if (!sinkRegister)
      sinkRegister = program.registers++;
    return *sinkRegister;
  }
  void branch(StringRef label) override { pending.push_back({program.code.size() - 1, label.str(), scope}); }

private:
  const Module &module;
  Program &program;
  std::vector<std::unique_ptr<Scope>> scopes;
  Scope *scope = nullptr;
  std::map<uint64_t, uint32_t> constants;
  std::optional<uint32_t> sinkRegister, dynamicBase;
  llvm::SmallVector<const Function *> active;
  struct Pending {
    size_t instruction;
    std::string label;
    Scope *scope;
  };
  std::vector<Pending> pending;
  /// Of `label: .branchtargets a, b;` by label: labels, as operands.
  llvm::StringMap<std::vector<SourceOperand>> branchTables;
  std::string latestLabel;

  Scope *newScope(Scope *parent) {
    scopes.push_back(std::make_unique<Scope>());
    scopes.back()->parent = parent;
    return scopes.back().get();
  }

  uint32_t hidden(Special special, uint64_t value) {
    program.hidden.push_back({program.registers, special, value});
    return program.registers++;
  }

  void placeGlobals() {
    uint64_t address = kModuleBase;
    for (const Variable &variable : module.variables) {
      if (variable.space != Space::Global && variable.space != Space::Const)
        continue;
      // Room between them, so that running over an end is seen.
      address = llvm::alignTo(address + 64, std::max<uint64_t>(variable.align, 64));
      program.globals.push_back({&variable, address});
      scope->names[variable.name] = {variable.space, variable.type, address, false};
      address += variable.bytes();
    }
  }

  void bindPlaced(const Variable &variable, Space space, std::vector<Placed> &into, uint64_t &bytes) {
    bytes = llvm::alignTo(bytes, variable.align);
    into.push_back({&variable, bytes});
    scope->names[variable.name] = {space, variable.type, bytes, false};
    bytes += variable.bytes();
  }

  void bindShared(const Variable &variable) {
    if (variable.count != 0) {
      program.sharedBytes = llvm::alignTo(program.sharedBytes, variable.align) + variable.bytes();
      program.sharedWindow = program.dynamicBase();
      return bindPlaced(variable, Space::Shared, program.shared, program.sharedWindow);
    }
    if (!dynamicBase)
      dynamicBase = hidden(Special::DynamicBase, 0);
    program.dynamicShared = true;
    scope->names[variable.name] = {Space::Shared, variable.type, *dynamicBase, true};
  }

  void declare(const Variable &variable) {
    if (variable.space == Space::Shared)
      return bindShared(variable);
    // A parameter that is passed on is a thread's own.
    if (variable.space != Space::Register)
      return bindPlaced(variable, Space::Local, program.local, program.localBytes);
    uint64_t count = variable.family ? std::min(variable.count, kMostRegisters) : 1;
    for (uint64_t i = 0; i < count; ++i) {
      std::string name = variable.family ? variable.name + std::to_string(i) : variable.name;
      scope->names[name] = {Space::Register, variable.type, program.registers++, false};
    }
  }

  Error body(const Function &function) {
    if (llvm::is_contained(active, &function))
      return errorAt(function.line, "'" + function.name + "' calls itself, which is not simulated");
    active.push_back(&function);
    Scope *outer = scope;
    Scope *own = scope = newScope(scope);
    for (const Statement &statement : function.body) {
      switch (statement.kind) {
      case Statement::Open:
        scope = newScope(scope);
        break;
      case Statement::Close:
        scope = scope->parent;
        break;
      case Statement::Label:
        scope->labels[statement.name] = program.code.size();
        latestLabel = statement.name;
        break;
      case Statement::Declaration:
        for (const Variable &variable : statement.variables)
          declare(variable);
        if (program.registers > kMostRegisters || program.localBytes > kMostLocalBytes)
          return errorAt(statement.line, "too many registers, or too much local memory");
        break;
      case Statement::Instruction:
        if (Error error = instruction(statement))
          return error;
      }
    }
    own->labels[kReturn] = program.code.size();
    scope = outer;
    active.pop_back();
    return Error::success();
  }

  Error instruction(const Statement &statement) {
    StringRef mnemonic = StringRef(statement.name).split('.').first;
    if (mnemonic == "call")
      return call(statement);
    if (statement.name == ".branchtargets") {
      branchTables[latestLabel] = statement.operands;
      return Error::success();
    }
    if (statement.name == "brx.idx" || statement.name == "brx.idx.uni")
      return branchByTable(statement);
    Decode decode = findDecoder(mnemonic);
    if (!decode)
      return errorAt(statement.line, "the instruction '" + statement.name + "' is not simulated");
    if (program.code.size() >= kMostInstructions)
      return errorAt(statement.line, "the kernel is too large with its calls inlined");
    Instruction &instruction = program.code.emplace_back();
    instruction.line = statement.line;
    if (!statement.guard.empty()) {
      std::optional<Binding> guard = find(statement.guard);
      if (!guard || guard->type != Type::Pred)
        return errorAt(statement.line, "'" + statement.guard + "' is not a predicate");
      instruction.guarded = true;
      instruction.guardNegated = statement.guardNegated;
      instruction.guard = guard->value;
    }
    Form form(*this, statement, instruction);
    decode(form);
    if (Error error = form.finish(form.expected))
      return error;
    if (mnemonic == "ret" && active.size() > 1) {
      instruction.flow = Flow::Branch;
      branch(kReturn);
    } else if (!instruction.run && instruction.flow == Flow::Next) {
      // Nothing to do, such as a prefetch.
      program.code.pop_back();
    }
    return Error::success();
  }

  /// `brx.idx index, table;` as a comparison and a branch for each label.
  Error branchByTable(const Statement &statement) {
    auto table = statement.operands.size() == 2 ? branchTables.find(statement.operands[1].name) : branchTables.end();
    if (table == branchTables.end() || !statement.guard.empty())
      return errorAt(statement.line, "'" + statement.name + "': only with a table before it, and without a predicate");
    // No name of PTX, so that it hides none.
    constexpr llvm::StringLiteral chosen = "<chosen>";
    scope->names[chosen] = {Space::Register, Type::Pred, program.registers++, false};
    for (auto [place, label] : llvm::enumerate(table->second)) {
      Statement compare, branch;
      compare.line = branch.line = statement.line;
      compare.name = "setp.eq.u32";
      compare.operands.resize(3);
      compare.operands[0].name = branch.guard = chosen;
      compare.operands[1] = statement.operands[0];
      compare.operands[2].kind = SourceOperand::Integer;
      compare.operands[2].bits = place;
      branch.name = "bra";
      branch.operands = {label};
      if (Error error = instruction(compare))
        return error;
      if (Error error = instruction(branch))
        return error;
    }
    // Beyond the table: the manual leaves it undefined.
    Statement beyond;
    beyond.line = statement.line;
    beyond.name = "trap";
    return instruction(beyond);
  }

  /// `call (results), name, (arguments);`
  Error call(const Statement &statement) {
    auto fail = [&](const llvm::Twine &why) { return errorAt(statement.line, "'" + statement.name + "': " + why); };
    if (!statement.guard.empty())
      return fail("a call with a predicate is not simulated");
    llvm::ArrayRef<SourceOperand> operands = statement.operands, results, arguments;
    if (!operands.empty() && operands.front().kind == SourceOperand::Vector) {
      results = operands.front().elements;
      operands = operands.drop_front();
    }
    if (operands.size() > 1 && operands[1].kind == SourceOperand::Vector)
      arguments = operands[1].elements;
    const Function *callee = operands.empty() ? nullptr : module.find(operands.front().name);
    if (!callee || !callee->hasBody || operands.size() > 2)
      return fail("only functions that stand in the module can be called");
    Scope *outer = scope;
    Scope *inner = newScope(scopes.front().get());
    auto bind = [&](llvm::ArrayRef<Variable> formal, llvm::ArrayRef<SourceOperand> actual) {
      if (formal.size() != actual.size())
        return false;
      for (auto [variable, operand] : llvm::zip(formal, actual)) {
        std::optional<Binding> binding = operand.kind == SourceOperand::Name ? find(operand.name) : std::nullopt;
        if (!binding || (binding->space == Space::Register) != (variable.space == Space::Register))
          return false;
        inner->names[variable.name] = *binding;
      }
      return true;
    };
    if (!bind(callee->results, results) || !bind(callee->parameters, arguments))
      return fail("the arguments are not those of '" + callee->name + "'");
    scope = inner;
    Error error = body(*callee);
    scope = outer;
    return error;
  }

  Error resolveBranches() {
    for (const Pending &branch : pending) {
      const uint32_t *target = nullptr;
      for (Scope *in = branch.scope; in && !target; in = in->parent)
        if (auto found = in->labels.find(branch.label); found != in->labels.end())
          target = &found->second;
      Instruction &instruction = program.code[branch.instruction];
      if (!target)
        return errorAt(instruction.line, "there is no label '" + branch.label + "'");
      instruction.target = *target;
    }
    return Error::success();
  }
};
} // namespace

llvm::Expected<Program> Program::decode(const Module &module, StringRef entry) {
  const Function *function = module.find(entry);
  if (!function || !function->isEntry || !function->hasBody) {
    std::string names;
    for (const Function &other : module.functions)
      if (other.isEntry)
        names += (names.empty() ? "" : ", ") + other.name;
    return llvm::createStringError("no kernel is called '" + entry + "'; there " +
                                   (names.empty() ? "is none" : "are " + names));
  }
  Program program;
  if (Error error = Decoder(module, program).run(*function))
    return std::move(error);
  return program;
}

} // namespace attn::ptx
