// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small pieces of PTX, run on one thread or on one warp.
#ifndef ATTN_TEST_UNIT_PTX_SNIPPET_H
#define ATTN_TEST_UNIT_PTX_SNIPPET_H

#include "tools/ptx/Device.h"
#include "gtest/gtest.h"
#include <cmath>

namespace attn::ptx {

inline uint32_t bits(float value) { return toBits(value); }
inline uint64_t bits(double value) { return toBits(value); }

/// `body` as a kernel with the parameters out and in, and registers of each width.
inline std::string kernel(const std::string &body, const std::string &head = "") {
  return ".version 7.8\n.target sm_80\n.address_size 64\n" + head +
         "\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
         ".reg .b16 %h<10>; .reg .b32 %r<10>; .reg .b64 %d<10>; .reg .pred %p<10>;\n"
         ".reg .b16 %ha, %hb, %hc; .reg .b32 %ra, %rb, %rc, %re; .reg .b64 %da, %db, %dc, %out, %in; .reg .pred %pa, "
         "%pb;\n"
         ".reg .b32 %me; .reg .b64 %place;\n" +
         body + "\n}\n";
}

/// Runs a kernel with two buffers; a null one is not initialised.
struct Outcome {
  Report report;
  std::vector<uint8_t> out;
  std::string error;

  template <typename T>
  T at(size_t index) const {
    T value;
    std::memcpy(&value, out.data() + index * sizeof(T), sizeof(T));
    return value;
  }
};

struct Shape {
  std::array<unsigned, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint64_t dynamicShared = 0;
  uint64_t seed = 0;
};

inline Outcome runText(const std::string &text, llvm::ArrayRef<uint8_t> in, size_t outBytes, Shape shape = {}) {
  Outcome run;
  llvm::Expected<Module> module = Module::parse(text);
  llvm::Expected<Program> program = module ? Program::decode(*module, "k") : module.takeError();
  if (!program) {
    run.error = llvm::toString(program.takeError());
    return run;
  }
  Device device;
  uint64_t out = device.allocate("out", outBytes), from = device.allocate("in", in, true);
  Launch how;
  how.grid = shape.grid;
  how.block = shape.block;
  how.dynamicShared = shape.dynamicShared;
  how.seed = shape.seed;
  how.instructionLimit = 1000000;
  uint64_t parameters[] = {out, from};
  how.parameters.assign(reinterpret_cast<uint8_t *>(parameters), reinterpret_cast<uint8_t *>(parameters + 2));
  llvm::Expected<Report> report = launch(*program, device, how);
  if (!report) {
    run.error = llvm::toString(report.takeError());
    return run;
  }
  run.report = std::move(*report);
  run.out = device.read(out).vec();
  return run;
}

template <typename T>
llvm::ArrayRef<uint8_t> bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)};
}

/// What a thread leaves in %r0, %d0, %h0 and %p0. Its operands are in %ra, %rb, %rc, in %da … and %ha … too, and the
/// lowest bits of the first two in %pa and %pb.
struct Result {
  uint32_t r = 0;
  uint64_t d = 0;
  uint16_t h = 0;
  bool p = false;
};

inline Result compute(const std::string &instructions, std::vector<uint64_t> operands) {
  operands.resize(3);
  std::string text = "ld.param.u64 %out, [out]; ld.param.u64 %in, [in];\n";
  for (unsigned i = 0; i < 3; ++i) {
    std::string name(1, "abc"[i]), place = "[%in+" + std::to_string(8 * i) + "];\n";
    text += "ld.global.b64 %d" + name + ", " + place + "cvt.u32.u64 %r" + name + ", %d" + name + ";\n" +
            "cvt.u16.u64 %h" + name + ", %d" + name + ";\n";
  }
  text += "and.b32 %re, %ra, 1; setp.ne.u32 %pa, %re, 0; and.b32 %re, %rb, 1; setp.ne.u32 %pb, %re, 0;\n"
          "mov.b32 %r0, 0; mov.b64 %d0, 0; mov.b16 %h0, 0; setp.ne.u32 %p0, 0, 0;\n" +
          instructions +
          "\nst.global.b32 [%out], %r0; st.global.b64 [%out+8], %d0; st.global.b16 [%out+16], %h0;\n"
          "selp.b32 %re, 1, 0, %p0; st.global.b32 [%out+20], %re;\nret;";
  Outcome run = runText(kernel(text), bytesOf(operands), 24);
  EXPECT_EQ(run.error, "") << instructions;
  EXPECT_TRUE(run.error.empty() && run.report.clean()) << instructions;
  Result result;
  if (!run.error.empty())
    return result;
  result.r = run.at<uint32_t>(0);
  result.d = run.at<uint64_t>(1);
  result.h = run.at<uint16_t>(8);
  result.p = run.at<uint32_t>(5);
  return result;
}

/// What the lanes of a warp leave in %r0, when lane i has `values[i]` in %ra and its number in %tid.
inline std::vector<uint32_t> computeWarp(const std::string &instructions, const std::vector<uint32_t> &values) {
  std::string text = "ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %me, %tid.x;\n"
                     "mul.wide.u32 %place, %me, 4; add.s64 %in, %in, %place; add.s64 %out, %out, %place;\n"
                     "ld.global.b32 %ra, [%in]; mov.b32 %r0, 0;\n" +
                     instructions + "\nst.global.b32 [%out], %r0;\nret;";
  Shape shape;
  shape.block = {32, 1, 1};
  Outcome run = runText(kernel(text), bytesOf(values), 128, shape);
  EXPECT_EQ(run.error, "") << instructions;
  EXPECT_TRUE(run.error.empty() && run.report.clean()) << instructions;
  std::vector<uint32_t> out(32);
  for (unsigned i = 0; i < 32 && run.error.empty(); ++i)
    out[i] = run.at<uint32_t>(i);
  return out;
}

/// The numbers 0 to 31, or what `f` makes of them.
template <typename F>
std::vector<uint32_t> byLane(F f) {
  std::vector<uint32_t> values(32);
  for (unsigned i = 0; i < 32; ++i)
    values[i] = f(i);
  return values;
}

} // namespace attn::ptx

#endif
