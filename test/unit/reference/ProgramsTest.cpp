// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs of this folder's `programs` through frontend and interpreter,
// against values that NumPy made without either.
#include "Programs.h"
#include "compiler/frontend/Frontend.h"
#include "dialects/reference/Npy.h"
#include "dialects/reference/Numerics.h"
#include <cmath>
#include <cstring>

using namespace attn::reference;

namespace {
const char *const kNames[] = {"append",    "buckets",  "bytes",  "concat",
                              "documents", "dropout",  "padded", "pages",
                              "pairs",     "relative", "sinks"};

std::string pathOf(llvm::StringRef name, llvm::StringRef extension) {
  return (ATTN_TEST_PROGRAMS "/" + name + extension).str();
}

std::vector<double> doubles(const NpyArray &array) {
  std::vector<double> values(array.bytes.size() / 8);
  std::memcpy(values.data(), array.bytes.data(), values.size() * 8);
  return values;
}

/// The dtype that the program declares for an argument.
std::optional<Dtype> declared(mlir::Type element) {
  if (mlir::isa<mlir::Float8E4M3FNType>(element))
    return Dtype::F8E4M3;
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return parseDtype(name == "i1" ? "bool" : name == "ui8" ? "u8" : name);
}

class Programs : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    context.loadDialect<attn::AttnDialect>();
    auto text = llvm::MemoryBuffer::getFile(pathOf(GetParam(), ".attn"));
    ASSERT_TRUE(text);
    sources.AddNewSourceBuffer(std::move(*text), {});
    module = attn::parseSpec(sources, &context);
    ASSERT_TRUE(module);
    arrays = llvm::cantFail(readNpzFile(pathOf(GetParam(), ".npz")));
  }

  Results run() {
    mlir::Operation *program = &module->getBody()->front();
    attn::Signature signature(program);
    Arguments arguments;
    for (auto [i, arg] : llvm::enumerate(signature.args)) {
      auto found = arrays.find("in_" + arg.getName().str());
      if (found != arrays.end())
        arguments[arg.getName().str()] = llvm::cantFail(toBuffer(
            found->second, *declared(signature.argType(i).getElementType())));
    }
    given = arguments;
    return llvm::cantFail(interpret(program, arguments));
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, NpyArray> arrays;
  Arguments given;
};

bool close(double a, double b) {
  if (std::isnan(b) || std::isinf(b))
    return std::isnan(b) ? std::isnan(a) : a == b;
  // Constants such as 0.001 are f32 in a program, which leaves this much.
  return std::fabs(a - b) <= 2e-6 * std::max(1e-3, std::fabs(b));
}
} // namespace

TEST_P(Programs, GivesWhatNumPyGives) {
  Results results = run();
  int compared = 0;
  for (const auto &[name, result] : results) {
    ASSERT_TRUE(arrays.count("out_" + name)) << name;
    std::vector<double> wanted = doubles(arrays["out_" + name]);
    // What an inout stores is rounded; a result's value is compared before
    // that.
    std::vector<double> actual =
        given.count(name) ? result.rounded.numbers() : result.value;
    ASSERT_EQ(actual.size(), wanted.size()) << name;
    for (size_t i = 0; i < wanted.size(); ++i, ++compared) {
      EXPECT_TRUE(close(actual[i], wanted[i]))
          << name << " " << result.place(i) << ": " << actual[i]
          << ", NumPy gives " << wanted[i];
      EXPECT_LT(result.radius[i], kUnbounded) << name << " " << result.place(i);
    }
  }
  EXPECT_GT(compared, 20);
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(kNames),
                         [](const auto &info) {
                           return std::string(info.param);
                         });
