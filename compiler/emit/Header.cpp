//===- Header.cpp - what a program includes ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "compiler/emit/Header.h"

#include "compiler/emit/Interface.h"
#include "compiler/emit/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace attn;

namespace {

struct HeaderWriter {
  llvm::raw_string_ostream os;

  explicit HeaderWriter(std::string &text) : os(text) {}

  /// Parameter names of a kernel: its own, changed where C has other plans for them.
  static llvm::SmallVector<std::string> parameterNames(const Interface &kernel) {
    llvm::StringSet<> taken = {"context", "bytes", kernel.name};
    llvm::SmallVector<std::string> names;
    for (const Interface::Argument &argument : kernel.arguments) {
      std::string name = argument.name;
      while (isWordOfC(name) || llvm::StringRef(name).starts_with("attn_") || llvm::StringRef(name).ends_with("_t") ||
             !taken.insert(name).second)
        name += '_';
      names.push_back(name);
    }
    return names;
  }

  void prototype(const Interface &kernel, llvm::StringRef suffix, llvm::StringRef last) {
    std::string begin = "attn_status " + kernel.name + suffix.str() + "(";
    llvm::SmallVector<std::string> parts{"attn_context *context"};
    for (auto [argument, name] : llvm::zip_equal(kernel.arguments, parameterNames(kernel))) {
      if (argument.byValue)
        parts.push_back((argument.type->cType + " " + name).str());
      else
        parts.push_back((argument.mode == Mode::In ? "const DLTensor *" : "DLTensor *") + name);
    }
    if (!last.empty())
      parts.push_back(last.str());
    os << begin;
    size_t column = begin.size();
    for (auto [i, part] : llvm::enumerate(parts)) {
      size_t width = part.size() + 2;
      if (i && column + width > 80) {
        os << ",\n" << std::string(begin.size(), ' ');
        column = begin.size();
      } else if (i) {
        os << ", ";
      }
      os << part;
      column += width;
    }
    os << ");\n";
  }

  void signature(const Interface &kernel) {
    auto list = [&](bool results) {
      llvm::ListSeparator comma(",\n");
      for (const Interface::Argument &argument : kernel.arguments)
        if ((argument.mode == Mode::Out) == results)
          os << comma << " *     " << argument.declaration();
    };
    os << " * " << kernel.name << "(\n";
    list(/*results=*/false);
    os << "\n * ) -> (\n";
    list(/*results=*/true);
    os << "\n * )\n";
  }

  /// An extent "x.1" as words about an argument, any other as it stands.
  static std::string whereFrom(const Interface::Axis &axis) {
    if (axis.extent.empty())
      return axis.name + " depends on " + llvm::join(axis.dependsOn, ", ");
    auto [argument, dimension] = llvm::StringRef(axis.extent).split('.');
    if (llvm::all_of(dimension, llvm::isDigit) && !dimension.empty())
      return (axis.name + " = dimension " + dimension + " of " + argument).str();
    return axis.name + " = " + axis.extent;
  }

  void list(llvm::StringRef title, llvm::ArrayRef<std::string> items) {
    if (items.empty())
      return;
    os << " *\n * " << title << "\n";
    for (const std::string &item : items) {
      os << " *     ";
      for (size_t i = 0; i < item.size(); ++i) // A text must not end the comment.
        os << item[i] << (llvm::StringRef(item).substr(i).starts_with("*/") ? " " : "");
      os << "\n";
    }
  }

  void kernel(const Interface &kernel) {
    os << "\n/**\n";
    signature(kernel);
    llvm::SmallVector<std::string> axes, conditions(kernel.facts);
    for (const Interface::Axis &axis : kernel.axes)
      axes.push_back(whereFrom(axis));
    llvm::append_range(conditions, kernel.requirements);
    list("Axes:", axes);
    list("Must hold:", conditions);
    llvm::SmallVector<std::string> bits;
    for (const Interface::Argument &argument : kernel.arguments)
      if (argument.byValue && argument.type->name != "bool" && argument.type->cType.starts_with("uint") &&
          argument.type->name != "u8")
        bits.push_back((argument.name + " (" + argument.type->name + ")").str());
    list("Passed as their bits:", bits);
    os << " */\n";
    prototype(kernel, "", "");
    os << "\n/** Sets *bytes to the workspace that a call of " << kernel.name << " with these arguments needs. */\n";
    prototype(kernel, "_workspace", "size_t *bytes");
    for (const Interface::Argument &argument : kernel.arguments)
      if (!argument.packedFrom.empty())
        packing(kernel, argument);
  }

  void packing(const Interface &kernel, const Interface::Argument &argument) {
    std::string name = kernel.name + "_pack_" + argument.name;
    os << "\n/** Lays [" << argument.packedFrom << "] out as the " << argument.name << " of " << kernel.name << ", once for many calls. */\n"
       << "static inline attn_status " << name << "(attn_context *context,\n"
       << std::string(27 + name.size(), ' ') << "const DLTensor *weight, DLTensor *packed) {\n"
       << "  return attn_pack(context, weight, " << argument.contracted << "u, packed);\n}\n";
  }
};

} // namespace

/// `LAYER_ATTN` for `layer.attn`.
static std::string guardOf(llvm::StringRef source) {
  std::string guard = "ATTN_KERNELS_";
  for (char c : source)
    guard += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  return guard + "_H";
}

/// A file name as a comment may hold it.
static std::string commentSafe(llvm::StringRef source) {
  std::string safe;
  for (char c : source)
    safe += llvm::isPrint(c) && c != '*' && c != '\\' ? c : '_';
  return safe;
}

llvm::Expected<std::string> attn::makeHeader(mlir::ModuleOp programs, llvm::StringRef source) {
  std::vector<Interface> kernels = findInterfaces(programs);
  for (const Interface &kernel : kernels) {
    if (std::string why = whyNoSymbol(kernel.name); !why.empty())
      return llvm::createStringError("attention " + kernel.name + ": " + why);
    for (const Interface::Argument &argument : kernel.arguments)
      if (!argument.type)
        return llvm::createStringError("attention " + kernel.name + ": " + argument.name +
                                       " has a type that cannot be passed");
  }
  std::string text, guard = guardOf(source);
  HeaderWriter writer(text);
  writer.os << "/* Made by attnc from " << commentSafe(source) << ". Declared here are the kernels of its object. */\n"
            << "#ifndef " << guard << "\n#define " << guard << "\n\n#include \"attn/runtime.h\"\n"
            << "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
            << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  for (const Interface &kernel : kernels)
    writer.kernel(kernel);
  writer.os << "\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}
