// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tokens to the tree of Source.h. Debug sections, linkage and tuning directives are read over.
#include "tools/ptx/TokenReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace attn::ptx {

using llvm::Error;
using llvm::StringRef;

Error errorAt(unsigned line, const llvm::Twine &message) {
  return llvm::createStringError(llvm::Twine(line) + ": " + message);
}

const Function *Module::find(StringRef name) const {
  // A definition wins over its declaration.
  const Function *found = nullptr;
  for (const Function &function : functions)
    if (function.name == name && (!found || function.hasBody))
      found = &function;
  return found;
}

const Variable *Module::findVariable(StringRef name) const {
  for (const Variable &variable : variables)
    if (variable.name == name)
      return &variable;
  return nullptr;
}

namespace {
std::optional<Space> spaceOf(StringRef directive) {
  return llvm::StringSwitch<std::optional<Space>>(directive)
      .Case(".reg", Space::Register)
      .Case(".global", Space::Global)
      .Case(".shared", Space::Shared)
      .Case(".shared::cta", Space::Shared)
      .Case(".local", Space::Local)
      .Case(".const", Space::Const)
      .Case(".param", Space::Param)
      .Default(std::nullopt);
}

/// Of a variable, so that no size overflows on the way.
constexpr uint64_t kMostElements = uint64_t(1) << 32;

class Parser : TokenReader {
public:
  using TokenReader::TokenReader;

  llvm::Expected<Module> run() {
    while (now().kind != Token::End)
      if (Error error = topLevel())
        return std::move(error);
    return std::move(module);
  }

private:
  Module module;

  Error topLevel() {
    StringRef word = now().text;
    if (word == ".version" || word == ".target" || word == ".address_size") {
      next();
      std::string text;
      unsigned line = now().line;
      while (now().kind != Token::End && now().line == line)
        text += next().text;
      if (word == ".address_size" && text != "64")
        return errorAt(line, "only .address_size 64 is known");
      if (word != ".address_size")
        (word == ".version" ? module.version : module.target) = text;
      return Error::success();
    }
    if (word == ".file" || word == ".loc" || word == ".pragma" || word == ".alias") {
      skipLine();
      return Error::success();
    }
    if (word == ".section") {
      skipTo("{");
      skipTo("}");
      return Error::success();
    }
    if (word == ".visible" || word == ".extern" || word == ".weak" || word == ".common") {
      next();
      return Error::success();
    }
    if (word == ".entry" || word == ".func")
      return function();
    if (spaceOf(word))
      return declaration(module.variables, ";");
    return fail("a directive expected");
  }

  /// `.align 4 .v2 .b8 name[3] = {…}, other`, up to and with `end`. The state space stands first.
  Error declaration(std::vector<Variable> &into, StringRef end) {
    Variable shared;
    shared.line = now().line;
    shared.space = *spaceOf(next().text);
    unsigned vector = 1;
    while (now().kind == Token::Word && now().text.starts_with(".")) {
      StringRef word = next().text;
      if (word == ".align")
        shared.align = next().bits;
      else if (word == ".ptr" || spaceOf(word))
        continue;
      else if (word == ".attribute")
        skipTo(")");
      else if (word == ".v2" || word == ".v4")
        vector = word == ".v2" ? 2 : 4;
      else if ((shared.type = typeNamed(word.drop_front())) == Type::None)
        return errorAt(shared.line, "the type '" + word + "' is not known");
    }
    if (shared.type == Type::None)
      return fail("a type expected");
    shared.count = vector;
    shared.align = std::max<uint64_t>(shared.align, typeBytes(shared.type) * vector);
    do {
      if (now().kind != Token::Word)
        return fail("a name expected");
      Variable variable = shared;
      variable.name = next().text;
      if (eat("<")) {
        variable.family = true;
        variable.count = next().bits;
        if (Error error = expect(">"))
          return error;
      }
      while (eat("[")) {
        uint64_t extent = now().kind == Token::Integer ? next().bits : 0;
        variable.count = llvm::SaturatingMultiply(variable.count, extent);
        if (Error error = expect("]"))
          return error;
      }
      if (variable.count > kMostElements)
        return errorAt(variable.line, "'" + variable.name + "' is too large");
      if (eat("="))
        if (Error error = initial(variable))
          return error;
      into.push_back(std::move(variable));
    } while (end == ";" && eat(","));
    return end == ";" ? expect(";") : Error::success();
  }

  Error initial(Variable &variable) {
    if (eat("{")) {
      while (!eat("}")) {
        if (Error error = initial(variable))
          return error;
        if (!eat(",") && !now().is("}"))
          return fail("',' expected");
      }
      return Error::success();
    }
    Variable::Initial value;
    if (eat("generic")) {
      value.generic = true;
      if (Error error = expect("("))
        return error;
    }
    if (now().kind == Token::Word) {
      value.symbol = next().text;
    } else {
      SourceOperand number;
      if (Error error = constant(number))
        return error;
      value.bits = number.bits;
    }
    if (value.generic)
      if (Error error = expect(")"))
        return error;
    if (!value.symbol.empty() && (now().is("+") || now().is("-"))) {
      SourceOperand number;
      eat("+");
      if (Error error = constant(number))
        return error;
      value.bits = number.bits;
    }
    variable.initial.push_back(std::move(value));
    return Error::success();
  }

  Error parameters(std::vector<Variable> &into) {
    if (!eat("("))
      return Error::success();
    while (!eat(")")) {
      if (!spaceOf(now().text))
        return fail("a parameter expected");
      if (Error error = declaration(into, ","))
        return error;
      if (!eat(",") && !now().is(")"))
        return fail("',' expected");
    }
    return Error::success();
  }

  Error function() {
    Function function;
    function.line = now().line;
    function.isEntry = next().text == ".entry";
    if (Error error = parameters(function.results))
      return error;
    if (now().kind != Token::Word)
      return fail("a name expected");
    function.name = next().text;
    if (Error error = parameters(function.parameters))
      return error;
    while (now().kind == Token::Word) {
      StringRef directive = next().text;
      llvm::SmallVector<uint64_t, 3> numbers;
      while (now().kind == Token::Integer) {
        numbers.push_back(next().bits);
        eat(",");
      }
      numbers.resize(3, 1);
      if (directive == ".maxntid")
        function.maxThreads = numbers[0] * numbers[1] * numbers[2];
      else if (directive == ".reqntid")
        function.requiredThreads = {unsigned(numbers[0]), unsigned(numbers[1]), unsigned(numbers[2])};
      else if (directive != ".minnctapersm" && directive != ".maxnctapersm" && directive != ".maxnreg" &&
               directive != ".noreturn" && directive != ".pragma")
        return fail("the directive '" + directive + "' is not known");
      else if (directive == ".pragma")
        skipTo(";");
    }
    function.hasBody = now().is("{");
    if (!function.hasBody) {
      if (Error error = expect(";"))
        return error;
    } else if (Error error = block(function.body)) {
      return error;
    }
    module.functions.push_back(std::move(function));
    return Error::success();
  }

  /// From `{` to its `}`, without these two.
  Error block(std::vector<Statement> &body) {
    if (Error error = expect("{"))
      return error;
    for (unsigned depth = 1; depth;) {
      Statement statement;
      statement.line = now().line;
      if (eat("{")) {
        ++depth;
        statement.kind = Statement::Open;
      } else if (eat("}")) {
        if (!--depth)
          break;
        statement.kind = Statement::Close;
      } else if (eat(";")) {
        continue;
      } else if (now().is(".loc") || now().is(".file")) {
        skipLine();
        continue;
      } else if (now().is(".pragma")) {
        skipTo(";");
        continue;
      } else if (spaceOf(now().text)) {
        statement.kind = Statement::Declaration;
        if (Error error = declaration(statement.variables, ";"))
          return error;
      } else if (now().kind == Token::Word && following().is(":")) {
        statement.kind = Statement::Label;
        statement.name = next().text;
        eat(":");
      } else if (Error error = instruction(statement)) {
        return error;
      }
      body.push_back(std::move(statement));
    }
    return Error::success();
  }

  Error instruction(Statement &statement) {
    if (eat("@")) {
      statement.guardNegated = eat("!");
      statement.guard = next().text;
    }
    if (now().kind != Token::Word)
      return fail("an instruction expected");
    statement.name = next().text;
    while (!eat(";")) {
      if (Error error = operand(statement.operands.emplace_back()))
        return error;
      if (!eat(",") && !now().is(";"))
        return fail("',' or ';' expected");
    }
    return Error::success();
  }
};
} // namespace

llvm::Expected<Module> Module::parse(StringRef text) {
  llvm::Expected<std::vector<Token>> tokens = lex(text);
  if (!tokens)
    return tokens.takeError();
  return Parser(std::move(*tokens)).run();
}

} // namespace attn::ptx
