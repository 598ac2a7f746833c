// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// .npz archives, assembled by hand: stored, deflated, ZIP64, and damaged.
#include "dialects/reference/Npy.h"
#include <gtest/gtest.h>
#include <zlib.h>

using namespace attn::reference;

namespace {
std::string number(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return text;
}

std::string deflated(const std::string &text) {
  std::string out(compressBound(text.size()) + 16, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = out.size();
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Archive {
  std::string file, directory;
  int members = 0;

  void add(const std::string &name, const std::string &text, bool compress,
           bool wide = false) {
    std::string packed = compress ? deflated(text) : text;
    std::string crc = number(
        crc32(0, reinterpret_cast<const Bytef *>(text.data()), text.size()), 4);
    std::string method = number(compress ? 8 : 0, 2),
                four = number(0xffffffff, 4);
    std::string sizes =
        wide ? four + four : number(packed.size(), 4) + number(text.size(), 4);
    std::string extra =
        wide ? number(1, 2) + number(24, 2) + number(text.size(), 8) +
                   number(packed.size(), 8) + number(file.size(), 8)
             : "";
    directory += "PK\x01\x02" + number(0, 6) + method + number(0, 4) + crc +
                 sizes + number(name.size(), 2) + number(extra.size(), 2) +
                 number(0, 10) + (wide ? four : number(file.size(), 4)) + name +
                 extra;
    file += "PK\x03\x04" + number(0, 4) + method + number(0, 4) + crc + sizes +
            number(name.size(), 2) + number(0, 2) + name + packed;
    ++members;
  }
  std::string finish() const {
    return file + directory + "PK\x05\x06" + number(0, 4) + number(members, 2) +
           number(members, 2) + number(directory.size(), 4) +
           number(file.size(), 4) + number(0, 2);
  }
};

std::string failure(const std::string &text) {
  auto arrays = parseNpz(text);
  return arrays ? "no error" : llvm::toString(arrays.takeError());
}
} // namespace

TEST(Npz, StoredDeflatedAndWideMembersRead) {
  Buffer x = Buffer::fromDoubles(Dtype::F32, {2, 2}, {1, 2, 3, 4});
  Buffer y = Buffer::fromIntegers(Dtype::I64, {3}, {5, 6, 7});
  Archive archive;
  archive.add("x.npy", formatNpy(x), false);
  archive.add("y.npy", formatNpy(y), true);
  archive.add("z.npy", formatNpy(y), true, /*wide=*/true);
  archive.add("notes.txt", "not an array", false);
  auto arrays = llvm::cantFail(parseNpz(archive.finish()));
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(llvm::cantFail(toBuffer(arrays["x"])).bytes, x.bytes);
  EXPECT_EQ(llvm::cantFail(toBuffer(arrays["y"])).bytes, y.bytes);
  EXPECT_EQ(llvm::cantFail(toBuffer(arrays["z"])).bytes, y.bytes);
}

TEST(Npz, DamageIsAnError) {
  Archive archive;
  archive.add("x.npy", formatNpy(Buffer::fromDoubles(Dtype::F32, {1}, {1})),
              false);
  std::string text = archive.finish();
  EXPECT_EQ(failure("PK"), "not a .npz file");
  std::string flipped = text;
  flipped[40] ^= 1;
  EXPECT_EQ(failure(flipped), "x: damaged .npz file: a checksum differs");
  EXPECT_EQ(failure(text.substr(20)), "damaged .npz file: bad directory");
  Archive packed;
  packed.add("x.npy", formatNpy(Buffer::zeros(Dtype::F32, {64})), true);
  std::string broken = packed.finish();
  broken[35] = '\xff'; // a block of the type that does not exist
  EXPECT_EQ(failure(broken), "x: damaged .npz file: a member does not inflate");
}
