// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// .npz files: ZIP archives of .npy files, stored or deflated, ZIP64 where NumPy
// writes it. Reads the central directory, as the format demands.
#include "dialects/reference/Npy.h"
#include "llvm/Support/Endian.h"
#include <zlib.h>

namespace attn::reference {

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using namespace llvm::support::endian;

namespace {
struct Entry {
  StringRef name;
  uint16_t method = 0;
  uint64_t packed = 0, size = 0, offset = 0;
  uint32_t crc = 0;
};

Error damaged(const char *what) {
  return createStringError("damaged .npz file: %s", what);
}

bool within(StringRef file, uint64_t offset, uint64_t size) {
  return offset <= file.size() && size <= file.size() - offset;
}

/// The ZIP64 extra field holds, in this order, those of the three numbers that
/// did not fit 32 bits.
void readZip64(StringRef extra, Entry &entry) {
  while (extra.size() >= 4) {
    uint16_t id = read16le(extra.data()), size = read16le(extra.data() + 2);
    extra = extra.drop_front(4);
    StringRef body = extra.take_front(size);
    extra = extra.drop_front(std::min<size_t>(size, extra.size()));
    if (id != 1)
      continue;
    for (uint64_t *field : {&entry.size, &entry.packed, &entry.offset})
      if (*field == 0xffffffffu && body.size() >= 8) {
        *field = read64le(body.data());
        body = body.drop_front(8);
      }
  }
}

/// Where the central directory starts and how many entries it has.
Expected<std::pair<uint64_t, uint64_t>> findDirectory(StringRef file) {
  size_t end = file.rfind(StringRef("PK\x05\x06", 4));
  if (end == StringRef::npos || !within(file, end, 22))
    return createStringError("not a .npz file");
  uint64_t count = read16le(file.data() + end + 10),
           offset = read32le(file.data() + end + 16);
  if (count != 0xffff && offset != 0xffffffffu)
    return std::make_pair(offset, count);
  size_t wide = file.rfind(StringRef("PK\x06\x06", 4));
  if (wide == StringRef::npos || !within(file, wide, 56))
    return damaged("no ZIP64 directory");
  return std::make_pair(read64le(file.data() + wide + 48),
                        read64le(file.data() + wide + 32));
}

Expected<Entry> readEntry(StringRef file, uint64_t &at) {
  if (!within(file, at, 46) || read32le(file.data() + at) != 0x02014b50)
    return damaged("bad directory");
  const char *p = file.data() + at;
  uint64_t name = read16le(p + 28), extra = read16le(p + 30),
           comment = read16le(p + 32);
  if (!within(file, at, 46 + name + extra + comment))
    return damaged("bad directory");
  if (read16le(p + 8) & 1)
    return createStringError("an encrypted .npz file");
  Entry entry;
  entry.method = read16le(p + 10);
  entry.crc = read32le(p + 16);
  entry.packed = read32le(p + 20);
  entry.size = read32le(p + 24);
  entry.offset = read32le(p + 42);
  entry.name = file.substr(at + 46, name);
  readZip64(file.substr(at + 46 + name, extra), entry);
  at += 46 + name + extra + comment;
  return entry;
}

Expected<std::string> inflateRaw(StringRef packed, uint64_t size) {
  // Deflate can't shrink by more than about 1032 to 1: a larger claim is
  // damage.
  if (size / 1100 > packed.size() + 1)
    return damaged("an impossible size");
  std::string result(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return damaged("zlib failed");
  size_t in = 0, out = 0;
  int code = Z_OK;
  // zlib counts in 32 bits; large members go in pieces.
  const size_t piece = size_t(1) << 30;
  while (code == Z_OK) {
    size_t give = std::min(piece, packed.size() - in),
           take = std::min(piece, result.size() - out);
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + in));
    stream.avail_in = give;
    stream.next_out = reinterpret_cast<Bytef *>(result.data() + out);
    stream.avail_out = take;
    code = inflate(&stream, Z_NO_FLUSH);
    in += give - stream.avail_in;
    out += take - stream.avail_out;
    if (code == Z_OK && give == stream.avail_in && take == stream.avail_out)
      break;
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || out != size)
    return damaged("a member does not inflate");
  return result;
}

Expected<NpyArray> readMember(StringRef file, const Entry &entry) {
  if (!within(file, entry.offset, 30) ||
      read32le(file.data() + entry.offset) != 0x04034b50)
    return damaged("bad member");
  const char *p = file.data() + entry.offset;
  uint64_t start = entry.offset + 30 + read16le(p + 26) + read16le(p + 28);
  if (!within(file, start, entry.packed))
    return damaged("the file ends inside a member");
  StringRef packed = file.substr(start, entry.packed);
  std::string inflated;
  if (entry.method == 8) {
    Expected<std::string> result = inflateRaw(packed, entry.size);
    if (!result)
      return result.takeError();
    inflated = std::move(*result);
    packed = inflated;
  } else if (entry.method != 0) {
    return createStringError("compression method %d is not supported",
                             entry.method);
  }
  auto crc =
      crc32_z(0, reinterpret_cast<const Bytef *>(packed.data()), packed.size());
  if (crc != entry.crc)
    return damaged("a checksum differs");
  return parseNpy(packed);
}
} // namespace

Expected<std::map<std::string, NpyArray>> parseNpz(StringRef contents) {
  auto directory = findDirectory(contents);
  if (!directory)
    return directory.takeError();
  std::map<std::string, NpyArray> arrays;
  uint64_t at = directory->first;
  for (uint64_t i = 0; i < directory->second; ++i) {
    Expected<Entry> entry = readEntry(contents, at);
    if (!entry)
      return entry.takeError();
    StringRef name = entry->name;
    if (!name.consume_back(".npy"))
      continue;
    Expected<NpyArray> array = readMember(contents, *entry);
    if (!array)
      return createStringError("%s: %s", name.str().c_str(),
                               llvm::toString(array.takeError()).c_str());
    arrays[name.str()] = std::move(*array);
  }
  return arrays;
}

} // namespace attn::reference
