// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npy (versions 1 to 3) and .npz files as buffers. Knows the file
// formats and the dtypes of the language, nothing of programs.
#ifndef ATTN_DIALECTS_REFERENCE_NPY_H
#define ATTN_DIALECTS_REFERENCE_NPY_H

#include "dialects/reference/Buffer.h"

namespace attn::reference {

/// An array as a file describes it, its elements already in row-major order and
/// little-endian.
struct NpyArray {
  /// NumPy's type text without the byte order, such as `f4` or `V2`.
  std::string type;
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<uint8_t> bytes;
};

llvm::Expected<NpyArray> parseNpy(llvm::StringRef contents);
llvm::Expected<std::map<std::string, NpyArray>>
parseNpz(llvm::StringRef contents);

/// `array` as a buffer of the declared dtype. bf16 is taken from ml_dtypes' two
/// bytes or from uint16, fp8 from one byte or uint8. A 0-d array of a Python
/// number (float64, int64) is taken for any dtype that can hold it.
llvm::Expected<Buffer> toBuffer(const NpyArray &array, Dtype declared);
/// The same without a declaration: the dtype that the file names. Two unnamed
/// bytes are bf16, one is refused.
llvm::Expected<Buffer> toBuffer(const NpyArray &array);

/// Reads a `.npy` file, or `FILE.npz:NAME`. Errors name the file.
llvm::Expected<NpyArray> readNpyFile(llvm::StringRef path);
llvm::Expected<std::map<std::string, NpyArray>>
readNpzFile(llvm::StringRef path);

/// Version 1, C order. bf16 is written as ml_dtypes writes it (`<V2`), fp8 as
/// `|V1`.
std::string formatNpy(const Buffer &buffer);
llvm::Error writeNpyFile(llvm::StringRef path, const Buffer &buffer);

} // namespace attn::reference

#endif
