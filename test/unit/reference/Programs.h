// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small programs as text, for tests of the interpreter.
#ifndef ATTN_TEST_UNIT_REFERENCE_PROGRAMS_H
#define ATTN_TEST_UNIT_REFERENCE_PROGRAMS_H

#include "dialects/attn/Attn.h"
#include "dialects/reference/Interpreter.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace attn::reference {

/// Parses one program or kernel and runs it.
inline llvm::Expected<Results> runText(llvm::StringRef text,
                                       const Arguments &arguments) {
  static mlir::MLIRContext *context = [] {
    auto *made = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    made->loadDialect<AttnDialect>();
    return made;
  }();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context);
  if (!module)
    return llvm::createStringError("the program does not parse");
  return interpret(&module->getBody()->front(), arguments);
}

inline std::string failureOf(llvm::StringRef text, const Arguments &arguments) {
  llvm::Expected<Results> results = runText(text, arguments);
  return results ? "no error" : llvm::toString(results.takeError());
}

/// `!attn.value<[AXES], ELEMENT>`.
inline std::string val(const std::string &axes,
                       const std::string &element = "f32") {
  return "!attn.value<[" + axes + "], " + element + ">";
}

/// A text in which `~B,S:i64~` stands for the type of a value over B and S, and
/// `~B,S~` for one of f32.
inline std::string expand(std::string text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~') {
      out += text[i];
      continue;
    }
    size_t end = text.find('~', i + 1);
    llvm::StringRef body = llvm::StringRef(text).slice(i + 1, end);
    auto [axes, element] = body.split(':');
    out += val(axes.str(), element.empty() ? "f32" : element.str());
    i = end;
  }
  return out;
}

inline Buffer numbers(llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<double> values) {
  return Buffer::fromDoubles(Dtype::F32, shape, values);
}
inline Buffer integers(llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> values) {
  return Buffer::fromIntegers(Dtype::I64, shape, values);
}

} // namespace attn::reference

#endif
