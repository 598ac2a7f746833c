// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// .npy files: hand-written bytes in, round trips, and refusals.
#include "dialects/reference/Npy.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace attn::reference;

static std::string npy(std::string header, std::string data, int version = 1) {
  header += '\n';
  std::string text("\x93NUMPY", 6);
  text += static_cast<char>(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(header.size() >> (8 * i));
  return text + header + data;
}

static std::string header(std::string descr, std::string shape,
                          bool fortran = false) {
  return "{'descr': '" + descr +
         "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

static Buffer read(llvm::StringRef text, Dtype declared) {
  Buffer buffer =
      llvm::cantFail(toBuffer(llvm::cantFail(parseNpy(text)), declared));
  return buffer;
}

static std::string failure(llvm::StringRef text, Dtype declared = Dtype::F32) {
  llvm::Expected<NpyArray> array = parseNpy(text);
  if (!array)
    return llvm::toString(array.takeError());
  llvm::Expected<Buffer> buffer = toBuffer(*array, declared);
  return buffer ? "no error" : llvm::toString(buffer.takeError());
}

TEST(Npy, EveryVersionReads) {
  for (int version : {1, 2, 3}) {
    Buffer b = read(npy(header("<f4", "(2,)"),
                        std::string("\0\0\x80\x3f\0\0\0\xc0", 8), version),
                    Dtype::F32);
    EXPECT_EQ(b.shape, (llvm::SmallVector<int64_t, 4>{2}));
    EXPECT_EQ(b.numbers(), (std::vector<double>{1, -2}));
  }
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  // [[0 1 2] [3 4 5]], by columns.
  Buffer b =
      read(npy(header("|i1", "(2, 3)", true), std::string("\0\3\1\4\2\5", 6)),
           Dtype::I8);
  EXPECT_EQ(b.numbers(), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, BigEndianIsSwapped) {
  Buffer b =
      read(npy(header(">i4", "(1,)"), std::string("\0\0\1\2", 4)), Dtype::I32);
  EXPECT_EQ(b.integer(0), 258);
}

TEST(Npy, Bf16FromMlDtypesAndFromUint16) {
  std::string one("\x80\x3f", 2);
  for (const char *descr : {"<V2", "|V2", "<u2", "bfloat16"})
    EXPECT_EQ(read(npy(header(descr, "(1,)"), one), Dtype::BF16).number(0), 1)
        << descr;
}

TEST(Npy, Fp8FromOneByte) {
  for (const char *descr : {"|V1", "<V1", "<f1", "|u1"}) {
    EXPECT_EQ(read(npy(header(descr, "(1,)"), "\x38"), Dtype::F8E4M3).number(0),
              1)
        << descr;
    EXPECT_EQ(read(npy(header(descr, "(1,)"), "\x3c"), Dtype::F8E5M2).number(0),
              1)
        << descr;
  }
}

TEST(Npy, PythonScalarsFitTheDeclaration) {
  double value = 0.5;
  std::string eight(reinterpret_cast<const char *>(&value), 8);
  Buffer b = read(npy(header("<f8", "()"), eight), Dtype::F32);
  EXPECT_TRUE(b.shape.empty());
  EXPECT_EQ(b.number(0), 0.5);
  EXPECT_EQ(read(npy(header("<i8", "()"), std::string("\5\0\0\0\0\0\0\0", 8)),
                 Dtype::I32)
                .integer(0),
            5);
  EXPECT_EQ(
      failure(npy(header("<i8", "()"), std::string("\0\1\0\0\0\0\0\0", 8)),
              Dtype::U8),
      "holds int64, the declaration says u8");
  EXPECT_EQ(failure(npy(header("<f8", "(1,)"), eight)),
            "holds float64, the declaration says f32");
}

TEST(Npy, EmptyArraysKeepTheirShape) {
  Buffer b = read(npy(header("<f4", "(3, 0, 2)"), ""), Dtype::F32);
  EXPECT_EQ(b.shape, (llvm::SmallVector<int64_t, 4>{3, 0, 2}));
  EXPECT_EQ(b.size(), 0);
}

TEST(Npy, WrittenFilesReadBack) {
  for (Dtype dtype : allDtypes())
    for (llvm::SmallVector<int64_t, 4> shape :
         {llvm::SmallVector<int64_t, 4>{}, {5}, {2, 3}, {0, 4}, {2, 1, 2}}) {
      Buffer b = Buffer::zeros(dtype, shape);
      for (int64_t i = 0; i < b.size(); ++i)
        b.set(i, dtype == Dtype::Bool ? i % 2 : i * 3);
      std::string text = formatNpy(b);
      EXPECT_EQ((text.size() - b.bytes.size()) % 64, 0u);
      Buffer back = read(text, dtype);
      EXPECT_EQ(back.bytes, b.bytes);
      EXPECT_EQ(back.shape, b.shape);
    }
}

TEST(Npy, HeaderIsWhatNumPyWrites) {
  std::string text = formatNpy(Buffer::fromDoubles(Dtype::F32, {2}, {1, 2}));
  EXPECT_EQ(text.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(text.substr(10, 58),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } ");
  EXPECT_EQ(text[127], '\n');
  EXPECT_EQ(text.size(), 136u);
}

TEST(Npy, DamageIsAnError) {
  EXPECT_EQ(failure("hello"), "not a .npy file");
  EXPECT_EQ(failure(npy(header("<f4", "(2,)"), "1234", 4)),
            ".npy version 4 is not supported");
  EXPECT_EQ(failure(npy(header("<f4", "(2,)"), "1234")),
            "the header says 2 of '<f4', the file has only 4 bytes of data");
  EXPECT_EQ(failure(npy(header("<f4", "(9223372036854775807, 4)"), "1234")),
            "the header says 9223372036854775807x4 of '<f4', the file has only "
            "4 bytes of data");
  EXPECT_EQ(failure(npy(header("<c16", "(1,)"), "1234")),
            "elements of type '<c16' are not supported");
  EXPECT_EQ(
      failure(npy(
          "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
          "1234")),
      "the header is not one that this reads (a record type, or damaged)");
  EXPECT_EQ(
      failure(npy(header("<f4", "(-1,)"), "")),
      "the header is not one that this reads (a record type, or damaged)");
  EXPECT_EQ(failure(npy(header("<f4", "(1,)"), "1234").substr(0, 30)),
            "the file ends inside its header");
}

TEST(Npy, FilesRoundTripAndErrorsNameThem) {
  llvm::SmallString<64> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("attn", "npy", path));
  Buffer b = Buffer::fromDoubles(Dtype::BF16, {2}, {1.5, -2});
  ASSERT_FALSE(static_cast<bool>(writeNpyFile(path, b)));
  llvm::Expected<NpyArray> array = readNpyFile(path);
  ASSERT_TRUE(static_cast<bool>(array));
  EXPECT_EQ(llvm::cantFail(toBuffer(*array)).dtype, Dtype::BF16);
  llvm::sys::fs::remove(path);
  EXPECT_EQ(llvm::toString(readNpyFile(path).takeError()),
            path.str().str() + ": No such file or directory");
  EXPECT_EQ(llvm::toString(writeNpyFile("/no/such/place.npy", b)),
            "/no/such/place.npy: No such file or directory");
}
