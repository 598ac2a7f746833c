// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The .npy format: a header that is a Python literal, then the elements.
#include "dialects/reference/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>

namespace attn::reference {

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {
struct Header {
  StringRef descr;
  bool fortran = false;
  llvm::SmallVector<int64_t, 4> shape;
};

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, in any
/// order.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : text(text) {}

  Expected<Header> parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    if (!eat("{"))
      return bad();
    while (!eat("}")) {
      StringRef key;
      if (!string(key) || !eat(":"))
        return bad();
      bool read = false;
      if (key == "descr")
        read = descr = string(header.descr);
      else if (key == "fortran_order")
        read = order = boolean(header.fortran);
      else if (key == "shape")
        read = shape = tuple(header.shape);
      if (!read)
        return bad();
      eat(",");
    }
    if (!descr || !order || !shape)
      return bad();
    return header;
  }

private:
  StringRef text;

  Error bad() {
    return createStringError(
        "the header is not one that this reads (a record type, or damaged)");
  }
  bool eat(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  bool string(StringRef &value) {
    text = text.ltrim();
    if (text.empty() || (text[0] != '\'' && text[0] != '"'))
      return false;
    size_t end = text.find(text[0], 1);
    if (end == StringRef::npos)
      return false;
    value = text.slice(1, end);
    text = text.drop_front(end + 1);
    return true;
  }
  bool boolean(bool &value) {
    if (eat("True"))
      return value = true;
    value = false;
    return eat("False");
  }
  bool tuple(llvm::SmallVectorImpl<int64_t> &shape) {
    if (!eat("("))
      return false;
    while (!eat(")")) {
      int64_t extent;
      text = text.ltrim();
      if (text.consumeInteger(10, extent) || extent < 0)
        return false;
      eat("L"); // Python 2 wrote long integers so.
      shape.push_back(extent);
      if (!eat(",") && !text.ltrim().starts_with(")"))
        return false;
    }
    return true;
  }
};

/// Reorders column-major elements to row-major ones.
std::vector<uint8_t> toRowMajor(StringRef data, llvm::ArrayRef<int64_t> shape,
                                int64_t width) {
  std::vector<uint8_t> result(data.size());
  llvm::SmallVector<int64_t, 4> index(shape.size(), 0), step(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d)
    step[d] = step[d - 1] * shape[d - 1];
  for (int64_t i = 0, n = data.size() / width; i < n; ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      from += index[d] * step[d];
    std::memcpy(result.data() + i * width, data.data() + from * width, width);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return result;
}

void swapBytes(std::vector<uint8_t> &bytes, int64_t width) {
  for (size_t i = 0; i + width <= bytes.size(); i += width)
    std::reverse(bytes.begin() + i, bytes.begin() + i + width);
}

/// Splits `<f4` into its byte order and `f4`, and finds the element's width.
Error splitDescr(StringRef descr, bool &swapped, StringRef &type,
                 int64_t &width) {
  if (descr == "bfloat16")
    descr = "<V2";
  swapped = false;
  type = descr;
  if (!type.empty() && StringRef("<>|=").contains(type[0])) {
    swapped = type[0] == '>';
    type = type.drop_front();
  }
  if (type.size() < 2 || type.drop_front().getAsInteger(10, width) ||
      width < 1 || width > 8)
    return createStringError("elements of type '%s' are not supported",
                             descr.str().c_str());
  return Error::success();
}

Expected<StringRef> splitHeader(StringRef &contents) {
  if (!contents.consume_front("\x93NUMPY") || contents.size() < 4)
    return createStringError("not a .npy file");
  int version = contents[0];
  if (version < 1 || version > 3)
    return createStringError(".npy version %d is not supported", version);
  size_t size = version == 1 ? 2 : 4;
  if (contents.size() < 2 + size)
    return createStringError("the file ends inside its header");
  const char *at = contents.data() + 2;
  size_t length = version == 1 ? llvm::support::endian::read16le(at)
                               : llvm::support::endian::read32le(at);
  contents = contents.drop_front(2 + size);
  if (contents.size() < length)
    return createStringError("the file ends inside its header");
  StringRef header = contents.take_front(length);
  contents = contents.drop_front(length);
  return header;
}
} // namespace

Expected<NpyArray> parseNpy(StringRef contents) {
  Expected<StringRef> text = splitHeader(contents);
  if (!text)
    return text.takeError();
  Expected<Header> header = HeaderParser(*text).parse();
  if (!header)
    return header.takeError();
  bool swapped;
  StringRef type;
  int64_t width;
  if (Error error = splitDescr(header->descr, swapped, type, width))
    return std::move(error);
  // Any width up to i64's counts as i64: this asks only whether the size is
  // sane.
  std::optional<int64_t> count = elementCount(header->shape, Dtype::I64);
  if (!count || *count * width > static_cast<int64_t>(contents.size()))
    return createStringError(
        "the header says %s of '%s', the file has only %zu bytes of data",
        shapeText(header->shape).c_str(), header->descr.str().c_str(),
        contents.size());
  NpyArray array;
  array.type = type.str();
  array.shape = header->shape;
  StringRef data = contents.take_front(*count * width);
  if (header->fortran)
    array.bytes = toRowMajor(data, array.shape, width);
  else
    array.bytes.assign(data.bytes_begin(), data.bytes_end());
  if (swapped)
    swapBytes(array.bytes, width);
  return array;
}

/// The dtype that NumPy's text names by itself.
static std::optional<Dtype> namedDtype(StringRef type) {
  return llvm::StringSwitch<std::optional<Dtype>>(type)
      .Case("f4", Dtype::F32)
      .Case("f2", Dtype::F16)
      .Case("V2", Dtype::BF16)
      .Case("i1", Dtype::I8)
      .Case("u1", Dtype::U8)
      .Case("i4", Dtype::I32)
      .Case("i8", Dtype::I64)
      .Case("b1", Dtype::Bool)
      .Default(std::nullopt);
}

/// Whether `declared` is stored in files of `type` under another name.
static bool storedAs(StringRef type, Dtype declared) {
  switch (declared) {
  case Dtype::BF16:
    return type == "V2" || type == "u2";
  case Dtype::F8E4M3:
  case Dtype::F8E5M2:
    return type == "V1" || type == "f1" || type == "u1";
  default:
    return namedDtype(type) == declared;
  }
}

static StringRef numpyName(StringRef type) {
  return llvm::StringSwitch<StringRef>(type)
      .Case("f8", "float64")
      .Case("f4", "float32")
      .Case("f2", "float16")
      .Case("i8", "int64")
      .Case("i4", "int32")
      .Case("i2", "int16")
      .Case("i1", "int8")
      .Case("u8", "uint64")
      .Case("u4", "uint32")
      .Case("u2", "uint16")
      .Case("u1", "uint8")
      .Case("b1", "bool")
      .Default(type);
}

static Buffer adopt(const NpyArray &array, Dtype dtype) {
  Buffer buffer;
  buffer.dtype = dtype;
  buffer.shape = array.shape;
  buffer.bytes = array.bytes;
  return buffer;
}

/// np.float64(0.1) or np.int64(3) for a declared scalar, where the dtype holds
/// it.
static std::optional<Buffer> scalarFrom(const NpyArray &array, Dtype declared) {
  if (!array.shape.empty() || declared == Dtype::Bool)
    return std::nullopt;
  Buffer result = Buffer::zeros(declared, {});
  if (array.type == "f8" && isFloat(declared)) {
    double value;
    std::memcpy(&value, array.bytes.data(), 8);
    result.set(0, value);
    return result;
  }
  std::optional<Dtype> stored = namedDtype(array.type);
  if (!stored || !isInteger(*stored))
    return std::nullopt;
  int64_t value = loadInteger(*stored, array.bytes.data());
  if (isInteger(declared) && saturate(value, declared) != value)
    return std::nullopt;
  result.setInteger(0, value);
  return result;
}

Expected<Buffer> toBuffer(const NpyArray &array, Dtype declared) {
  if (storedAs(array.type, declared))
    return adopt(array, declared);
  if (std::optional<Buffer> scalar = scalarFrom(array, declared))
    return std::move(*scalar);
  return createStringError("holds %s, the declaration says %s",
                           numpyName(array.type).str().c_str(),
                           dtypeName(declared).data());
}

Expected<Buffer> toBuffer(const NpyArray &array) {
  if (std::optional<Dtype> dtype = namedDtype(array.type))
    return adopt(array, *dtype);
  return createStringError("holds %s, which is no dtype of the language",
                           numpyName(array.type).str().c_str());
}

static Error inFile(StringRef path, Error error) {
  return createStringError("%s: %s", path.str().c_str(),
                           llvm::toString(std::move(error)).c_str());
}

static Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return createStringError("%s: %s", path.str().c_str(),
                             file.getError().message().c_str());
  return std::move(*file);
}

Expected<std::map<std::string, NpyArray>> readNpzFile(StringRef path) {
  auto file = readFile(path);
  if (!file)
    return file.takeError();
  auto arrays = parseNpz((*file)->getBuffer());
  if (!arrays)
    return inFile(path, arrays.takeError());
  return arrays;
}

Expected<NpyArray> readNpyFile(StringRef path) {
  auto [archive, name] = path.rsplit(':');
  if (archive.ends_with(".npz") && !name.empty()) {
    auto arrays = readNpzFile(archive);
    if (!arrays)
      return arrays.takeError();
    auto found = arrays->find(name.str());
    if (found == arrays->end())
      return createStringError("%s: no array '%s' in it", archive.str().c_str(),
                               name.str().c_str());
    return std::move(found->second);
  }
  auto file = readFile(path);
  if (!file)
    return file.takeError();
  auto array = parseNpy((*file)->getBuffer());
  if (!array)
    return inFile(path, array.takeError());
  return array;
}

static StringRef descrFor(Dtype dtype) {
  switch (dtype) {
  case Dtype::F32:
    return "<f4";
  case Dtype::F16:
    return "<f2";
  case Dtype::BF16:
    return "<V2";
  case Dtype::F8E4M3:
  case Dtype::F8E5M2:
    return "|V1";
  case Dtype::I8:
    return "|i1";
  case Dtype::U8:
    return "|u1";
  case Dtype::I32:
    return "<i4";
  case Dtype::I64:
    return "<i8";
  case Dtype::Bool:
    return "|b1";
  }
  return "|V1";
}

std::string formatNpy(const Buffer &buffer) {
  std::string header;
  llvm::raw_string_ostream out(header);
  out << "{'descr': '" << descrFor(buffer.dtype)
      << "', 'fortran_order': False, 'shape': (";
  llvm::interleaveComma(buffer.shape, out);
  out << (buffer.shape.size() == 1 ? ",), }" : "), }");
  // Magic, version and length take ten bytes; NumPy aligns the data to 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(buffer.bytes.begin(), buffer.bytes.end());
  return text;
}

Error writeNpyFile(StringRef path, const Buffer &buffer) {
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (code)
    return createStringError("%s: %s", path.str().c_str(),
                             code.message().c_str());
  out << formatNpy(buffer);
  out.close();
  if (!out.has_error())
    return Error::success();
  code = out.error();
  out.clear_error();
  return createStringError("%s: %s", path.str().c_str(),
                           code.message().c_str());
}

} // namespace attn::reference
