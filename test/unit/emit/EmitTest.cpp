// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmittedKernel.h"

#include "attn/runtime.h"
#include "compiler/Loader.h"
#include "compiler/emit/Names.h"
#include "llvm/Object/ELFObjectFile.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

using namespace attn;

namespace {

struct Kernel {
  EmittedKernel emitted;
  std::unique_ptr<LoadedObject> object;
  LoadedObject::Kernel functions{};

  explicit Kernel(llvm::ArrayRef<Target> targets) : Kernel(std::tuple<>(), targets) {}
  template <typename... Text>
  Kernel(std::tuple<Text...> text, llvm::ArrayRef<Target> targets) : emitted(std::make_from_tuple<EmittedKernel>(text)) {
    if (llvm::Error error = load(targets))
      ADD_FAILURE() << llvm::toString(std::move(error));
  }

  llvm::Error load(llvm::ArrayRef<Target> targets) {
    llvm::Expected<Code> code = emitted.compile(targets);
    if (!code)
      return code.takeError();
    auto bytes = code->object();
    if (!bytes)
      return bytes.takeError();
    auto loaded = LoadedObject::load(std::move(*bytes));
    if (!loaded)
      return loaded.takeError();
    object = std::move(*loaded);
    return object->find(emitted.signature()).moveInto(functions);
  }
};

/// A call's arguments, good until a test spoils them.
struct Call {
  std::vector<float> in, out;
  int64_t shape[2], strides[2], outShape[2];
  DLTensor x, y;
  float f = 1.5f;
  char message[200] = "";
  attn_context context;

  Call(int64_t s, int64_t d) : in(s * d + 1), out(s * d + 1, -7.0f), shape{s, d}, strides{d, 1}, outShape{s, d} {
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = float(i) + 0.25f;
    x = {in.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    y = {out.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, outShape, nullptr, 0};
    EXPECT_EQ(attn_context_init(&context, sizeof context), ATTN_OK);
    context.message = message;
    context.message_size = sizeof message;
  }

  attn_status run(Kernel &kernel) {
    const void *arguments[] = {&x, &f, &y};
    return kernel.functions.call(&context, arguments);
  }
  /// What a refused call must leave alone.
  bool untouched() const { return llvm::all_of(out, [](float value) { return value == -7.0f; }); }
};

Kernel &hostKernel() {
  static Kernel kernel(hostTarget());
  return kernel;
}

Target level3() { return llvm::cantFail(findTarget("x86-64-v3")); }
Target level4() { return llvm::cantFail(findTarget("x86-64-v4")); }
Target arm() { return llvm::cantFail(findTarget("aarch64")); }

TEST(Emit, KernelComputesOnAnyExtentsAndThreads) {
  for (int64_t s : {0, 1, 2, 5, 33})
    for (int32_t threads : {1, 2}) {
      Call call(s, 2 * s);
      ASSERT_EQ(attn_context_set_threads(&call.context, threads), ATTN_OK);
      ASSERT_EQ(call.run(hostKernel()), ATTN_OK) << call.message;
      for (int64_t i = 0; i < 2 * s * s; ++i)
        EXPECT_EQ(call.out[i], call.in[i] * call.f);
      EXPECT_EQ(call.out.back(), -7.0f);
    }
}

TEST(Emit, StridesAreHonoured) {
  Call call(2, 4);
  call.strides[0] = 0;
  call.strides[1] = -1;
  call.x.byte_offset = 12;
  ASSERT_EQ(call.run(hostKernel()), ATTN_OK) << call.message;
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(call.out[i], call.in[3 - i % 4] * call.f);
}

/// Copies what the frame holds of its scalars: slot 0 is N, 1 to 6 are the scalars, 7 and 8 are y.
constexpr const char *scalarsText = R"(
attn.kernel @scalars(in "i" %i : !attn.ref<[], i8>, in "u" %u : !attn.ref<[], ui8>, in "h" %h : !attn.ref<[], bf16>,
                     in "b" %b : !attn.ref<[], i1>, in "l" %l : !attn.ref<[], i64>, in "f" %f : !attn.ref<[], f32>,
                     out "y" %y : !attn.ref<[N], i64>) axes [<N = y.0>] facts [] {
  attn.stage nest #attn.schedule<lanes = 8, vectors = 1, rows = 1, query_tile = 1, key_tile = 1, depth_tile = 1> {
  }
}
func.func private @scalars.stage0.tasks(%frame: !llvm.ptr) -> i64 {
  %n = arith.constant 6 : i64
  return %n : i64
}
func.func private @scalars.stage0(%frame: !llvm.ptr, %task: i64, %worker: i32) {
  %c1 = arith.constant 1 : i64
  %c7 = arith.constant 7 : i64
  %slot = arith.addi %task, %c1 : i64
  %from = llvm.getelementptr %frame[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %v = llvm.load %from : !llvm.ptr -> i64
  %at = llvm.getelementptr %frame[%c7] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %y = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %to = llvm.getelementptr %y[%task] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %v, %to : i64, !llvm.ptr
  return
}
)";

TEST(Emit, ScalarsOfEveryWidthArrive) {
  Kernel kernel(std::make_tuple(scalarsText), hostTarget());
  ASSERT_TRUE(kernel.functions.call);
  int8_t i = -3;
  uint8_t u = 200, b = 1;
  uint16_t h = 0xc0de;
  int64_t l = std::numeric_limits<int64_t>::min(), shape[] = {6}, out[6] = {};
  float f = -0.0f;
  DLTensor y = {out, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, shape, nullptr, 0};
  const void *arguments[] = {&i, &u, &h, &b, &l, &f, &y};
  attn_context context{};
  context.size = sizeof context;
  context.version = ATTN_ABI_VERSION;
  context.threads = 1;
  ASSERT_EQ(kernel.functions.call(&context, arguments), ATTN_OK);
  const int64_t want[6] = {-3, 200, 0xc0de, 1, l, 0x80000000};
  for (int n = 0; n < 6; ++n)
    EXPECT_EQ(out[n], want[n]) << n;
}

TEST(Emit, WorkspaceIsWhatACallNeeds) {
  Call call(3, 6);
  ASSERT_EQ(attn_context_set_threads(&call.context, 2), ATTN_OK);
  const void *arguments[] = {&call.x, &call.f, &call.y};
  size_t bytes = 0;
  ASSERT_EQ(hostKernel().functions.workspace(&call.context, arguments, &bytes), ATTN_OK) << call.message;
  EXPECT_EQ(bytes, 128u + 2u * 64u); // 72 bytes of buffer, and 8 of scratch for each of two workers.
  alignas(64) char memory[256];
  call.context.workspace = memory;
  call.context.workspace_bytes = bytes - 1;
  EXPECT_EQ(call.run(hostKernel()), ATTN_BAD_ARGUMENT);
  EXPECT_STREQ(call.message, "context: workspace has 255 bytes, but this call needs 256 aligned to 64");
  EXPECT_TRUE(call.untouched());
  call.context.workspace_bytes = bytes;
  EXPECT_EQ(call.run(hostKernel()), ATTN_OK) << call.message;
  EXPECT_EQ(hostKernel().functions.workspace(&call.context, arguments, nullptr), ATTN_BAD_ARGUMENT);
  EXPECT_STREQ(call.message, "workspace: the place for the size is null");
}

TEST(Emit, BadArgumentsAreRefusedBeforeAnythingIsWritten) {
  auto refused = [](llvm::function_ref<void(Call &)> spoil, const char *text) {
    Call call(2, 4);
    spoil(call);
    EXPECT_EQ(call.run(hostKernel()), ATTN_BAD_ARGUMENT);
    EXPECT_STREQ(call.message, text);
    EXPECT_TRUE(call.untouched());
  };
  refused([](Call &c) { c.x.ndim = 1; }, "scale: argument x: rank is 1, but [S, D] needs 2");
  refused([](Call &c) { c.x.dtype.bits = 64; }, "scale: argument x: dtype is f64, but f32 is needed");
  refused([](Call &c) { c.outShape[1] = 5; }, "scale: argument y: dimension 1 is 5, but D needs 4 (D = x.1)");
  refused([](Call &c) { c.shape[1] = c.outShape[1] = 8; c.in.resize(16); c.x.data = c.in.data(); c.strides[0] = 8; },
          "scale: axis S is 2 (x.0), but must be D / 2 = 4 (D = 8)");
  refused([](Call &c) { c.y.data = c.x.data; }, "scale: argument y: is written, but its memory overlaps that of x");
  refused([](Call &c) { c.f = -1; }, "scale: requires 0 < f");
  refused([](Call &c) { c.f = std::numeric_limits<float>::quiet_NaN(); }, "scale: requires 0 < f");
}

TEST(Emit, ContextOfAnotherVersionIsRefused) {
  Call call(1, 2);
  call.context.version = 99;
  EXPECT_EQ(call.run(hostKernel()), ATTN_BAD_ARGUMENT);
  EXPECT_TRUE(call.untouched());
}

TEST(Emit, SizesPastTheAddressSpaceAreRefused) {
  Call call(2, 4);
  call.shape[0] = call.outShape[0] = int64_t(1) << 60;
  call.shape[1] = call.outShape[1] = int64_t(1) << 61;
  call.strides[0] = call.strides[1] = 0;
  EXPECT_EQ(call.run(hostKernel()), ATTN_BAD_ARGUMENT);
  EXPECT_TRUE(call.untouched());
}

TEST(Emit, VariantsShareOneEntry) {
#ifndef __x86_64__
  GTEST_SKIP() << "the variants are for x86-64";
#else
  Kernel kernel({level3(), level4()});
  Call call(3, 6);
  attn_status status = call.run(kernel);
  if (!__builtin_cpu_supports("avx2")) {
    EXPECT_EQ(status, ATTN_UNSUPPORTED);
    return;
  }
  ASSERT_EQ(status, ATTN_OK) << call.message;
  for (int64_t i = 0; i < 18; ++i)
    EXPECT_EQ(call.out[i], call.in[i] * call.f);
#endif
}

TEST(Emit, ProcessorWithoutTheInstructionsIsRefused) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "this processor runs x86-64-v4";
  Kernel kernel({level4()});
  Call call(3, 6);
  EXPECT_EQ(call.run(kernel), ATTN_UNSUPPORTED);
  EXPECT_STREQ(call.message, "scale: no variant of this kernel runs on this processor");
  EXPECT_TRUE(call.untouched());
#else
  GTEST_SKIP() << "the variants are for x86-64";
#endif
}

TEST(Emit, TargetsOfTwoArchitecturesAreNoObject) {
  llvm::Expected<Code> code = EmittedKernel().compile({level3(), arm()});
  ASSERT_FALSE(bool(code));
  EXPECT_EQ(llvm::toString(code.takeError()),
            "targets of one object are of one architecture, but x86-64-v3 and aarch64 are not");
}

TEST(Emit, NamesThatAProgramNeedsAreRefused) {
  EXPECT_EQ(whyNoSymbol("causal_mha"), "");
  EXPECT_EQ(whyNoSymbol("double"), "this is a word of C or C++; choose another name");
  EXPECT_EQ(whyNoSymbol("attn_run"), "names that begin with attn_ are the runtime's; choose another name");
  EXPECT_EQ(whyNoSymbol("memcpy"),
            "this is a function of the C library, which the program would lose; choose another name");
}

TEST(Emit, UnknownProcessorIsAnError) {
  Target target = level3();
  target.cpu = "abacus";
  llvm::Expected<Code> code = EmittedKernel().compile(target);
  ASSERT_FALSE(bool(code));
  EXPECT_EQ(llvm::toString(code.takeError()), "target x86-64-v3: LLVM knows no processor 'abacus'");
}

TEST(Emit, BytesAreReproducible) {
  for (const Target &target : {level3(), arm()}) {
    std::string first;
    for (int round = 0; round < 2; ++round) {
      llvm::Expected<Code> code = EmittedKernel().compile(target);
      ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
      auto object = code->object();
      ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
      std::string bytes = (*object)->getBuffer().str();
      EXPECT_TRUE(round == 0 || bytes == first);
      first = bytes;
    }
  }
}

TEST(Emit, OnlyEntriesAreVisible) {
  llvm::Expected<Code> code = EmittedKernel().compile({level3(), level4()});
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  auto bytes = code->object();
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  auto object = llvm::object::ObjectFile::createObjectFile(**bytes);
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
  std::vector<std::string> visible, missing;
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    if (flags & llvm::object::SymbolRef::SF_Undefined)
      missing.push_back(llvm::cantFail(symbol.getName()).str());
    else if (flags & llvm::object::SymbolRef::SF_Global)
      visible.push_back(llvm::cantFail(symbol.getName()).str());
  }
  llvm::sort(visible);
  EXPECT_EQ(visible, (std::vector<std::string>{"scale", "scale_workspace"}));
  for (const std::string &name : missing)
    EXPECT_TRUE(name.empty() || name == "memcpy" || name == "memset") << name;
}

} // namespace
