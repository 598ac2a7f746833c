// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Making stored tensors and looking at their elements.
#include "dialects/reference/Buffer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace attn::reference {

std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape,
                                    Dtype dtype) {
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    empty |= extent == 0;
  }
  if (empty)
    return 0;
  int64_t count = 1, bytes = 0;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(count, extent, count))
      return std::nullopt;
  if (llvm::MulOverflow(count, dtypeSize(dtype), bytes))
    return std::nullopt;
  return count;
}

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleave(shape, out, "x");
  return text;
}

Buffer Buffer::zeros(Dtype dtype, llvm::ArrayRef<int64_t> shape) {
  Buffer buffer;
  buffer.dtype = dtype;
  buffer.shape.assign(shape.begin(), shape.end());
  buffer.bytes.resize(elementCount(shape, dtype).value_or(0) *
                      dtypeSize(dtype));
  return buffer;
}

Buffer Buffer::fromDoubles(Dtype dtype, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<double> values) {
  Buffer buffer = zeros(dtype, shape);
  for (int64_t i = 0, n = std::min<int64_t>(buffer.size(), values.size());
       i < n; ++i)
    buffer.set(i, values[i]);
  return buffer;
}

Buffer Buffer::fromIntegers(Dtype dtype, llvm::ArrayRef<int64_t> shape,
                            llvm::ArrayRef<int64_t> values) {
  Buffer buffer = zeros(dtype, shape);
  for (int64_t i = 0, n = std::min<int64_t>(buffer.size(), values.size());
       i < n; ++i)
    buffer.setInteger(i, values[i]);
  return buffer;
}

llvm::Expected<Buffer> Buffer::create(Dtype dtype,
                                      llvm::ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = elementCount(shape, dtype);
  // 2^40 bytes is past any machine that this runs on, and a file's header may
  // say anything.
  if (!count || *count * dtypeSize(dtype) > (int64_t(1) << 40))
    return llvm::createStringError("a tensor of %s %s is too large",
                                   shapeText(shape).c_str(),
                                   dtypeName(dtype).data());
  return zeros(dtype, shape);
}

std::vector<double> Buffer::numbers() const {
  std::vector<double> values(size());
  for (int64_t i = 0, n = size(); i < n; ++i)
    values[i] = number(i);
  return values;
}

} // namespace attn::reference
