// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logic, shifts, bit fields and bytes.
#include "tools/ptx/Lanes.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

namespace attn::ptx {

namespace {
struct And {
  template <typename T>
  static T run(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <typename T>
  static T run(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <typename T>
  static T run(T a, T b) {
    return a ^ b;
  }
};
struct Not {
  template <typename T>
  static T run(T a) {
    return T(~a);
  }
};
/// Of a predicate.
struct NotPredicate {
  template <typename T>
  static T run(T a) {
    return T(!(a & 1));
  }
};
struct LogicalNot {
  template <typename T>
  static T run(T a) {
    return T(a == 0);
  }
};
struct CountOnes {
  template <typename T>
  static uint32_t run(T a) {
    return llvm::popcount(std::make_unsigned_t<T>(a));
  }
};
struct CountZeros {
  template <typename T>
  static uint32_t run(T a) {
    return llvm::countl_zero(std::make_unsigned_t<T>(a));
  }
};
struct Reverse {
  template <typename T>
  static T run(T a) {
    return llvm::reverseBits(a);
  }
};
/// The place of the highest bit that isn't the sign; all ones without one.
struct FindLeading {
  template <typename T>
  static uint32_t run(T a) {
    auto bits = std::make_unsigned_t<T>(std::is_signed_v<T> && a < 0 ? ~a : a);
    return bits ? 8 * sizeof(T) - 1 - llvm::countl_zero(bits) : UINT32_MAX;
  }
};
/// How far to shift left to bring that bit to the top.
struct FindShift {
  template <typename T>
  static uint32_t run(T a) {
    uint32_t place = FindLeading::run(a);
    return place == UINT32_MAX ? place : 8 * sizeof(T) - 1 - place;
  }
};

/// The amount is a u32, and clamped to the width.
struct ShiftLeft {
  template <typename T>
  static T run(uint64_t a, uint64_t b, uint64_t) {
    return uint32_t(b) < 8 * sizeof(T) ? T(a << uint32_t(b)) : T(0);
  }
};
struct ShiftRight {
  template <typename T>
  static T run(uint64_t a, uint64_t b, uint64_t) {
    return T(fromBits<T>(a) >> std::min<uint32_t>(uint32_t(b), 8 * sizeof(T) - 1) >>
             (uint32_t(b) >= 8 * sizeof(T) ? 1 : 0));
  }
};

struct Extract {
  template <typename T>
  static T run(uint64_t a, uint64_t b, uint64_t c) {
    int top = 8 * sizeof(T) - 1, place = b & 0xff, length = c & 0xff;
    bool sign = std::is_signed_v<T> && length && (a >> std::min(place + length - 1, top) & 1);
    uint64_t result = 0;
    for (int i = 0; i <= top; ++i)
      result |= uint64_t(i < length && place + i <= top ? a >> (place + i) & 1 : sign) << i;
    return T(result);
  }
};

/// d = b with bits of a put in.
template <typename T>
void insertField(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t a = warp.row(in.from[0])[i], result = warp.row(in.from[1])[i];
    unsigned place = warp.row(in.from[2])[i] & 0xff, length = warp.row(in.from[3])[i] & 0xff;
    for (unsigned bit = 0; bit < length && place + bit < 8 * sizeof(T); ++bit)
      result = (result & ~(1ull << (place + bit))) | (a >> bit & 1) << (place + bit);
    warp.row(in.to[0])[i] = T(result);
  });
}

/// `detail`, in the order of their names.
enum Permute : uint64_t { General, Forward4, Backward4, Replicate8, EdgeLeft, EdgeRight, Replicate16 };

void permute(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t pool = (warp.row(in.from[1])[i] << 32) | uint32_t(warp.row(in.from[0])[i]);
    uint32_t control = uint32_t(warp.row(in.from[2])[i]), result = 0;
    for (int byte = 0; byte < 4; ++byte) {
      int select = control & 3;
      switch (in.detail) {
      case General:
        select = control >> (4 * byte) & 7;
        break;
      case Forward4:
        select = select + byte;
        break;
      case Backward4:
        select = (select - byte) & 7;
        break;
      case Replicate8:
        break;
      case EdgeLeft:
        select = std::max(select, byte);
        break;
      case EdgeRight:
        select = std::min(select, byte);
        break;
      case Replicate16:
        select = 2 * (select & 1) + (byte & 1);
        break;
      }
      uint32_t value = pool >> (8 * select) & 0xff;
      if (in.detail == General && control >> (4 * byte) & 8)
        value = value & 0x80 ? 0xff : 0;
      result |= value << (8 * byte);
    }
    warp.row(in.to[0])[i] = result;
  });
}

/// Any function of three bits, by its table.
void lookup3(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]), *b = warp.row(in.from[1]), *c = warp.row(in.from[2]);
  eachLane(active, [&](unsigned i) {
    uint32_t result = 0;
    for (unsigned entry = 0; entry < 8; ++entry)
      if (in.detail >> entry & 1)
        result |= (entry & 4 ? a[i] : ~a[i]) & (entry & 2 ? b[i] : ~b[i]) & (entry & 1 ? c[i] : ~c[i]);
    d[i] = result;
  });
}

/// `detail`: 1 shifts right, 2 wraps the amount.
void funnel(Warp &warp, const Instruction &in, uint32_t active) {
  eachLane(active, [&](unsigned i) {
    uint64_t both = (warp.row(in.from[1])[i] << 32) | uint32_t(warp.row(in.from[0])[i]);
    uint32_t amount = uint32_t(warp.row(in.from[2])[i]);
    amount = in.detail & 2 ? amount & 31 : std::min(amount, 32u);
    warp.row(in.to[0])[i] = uint32_t(in.detail & 1 ? both >> amount : both << amount >> 32);
  });
}

template <typename Op>
void logic(Form &form) {
  Type type = form.takeType();
  takeOperands(form, type, 2);
  setHandler(form, type == Type::Pred ? binary<uint8_t, Op> : isBits(type) ? binaryOf<Op>(type) : nullptr);
}

void invert(Form &form) {
  Type type = form.takeType();
  takeOperands(form, type, 1);
  setHandler(form, type == Type::Pred ? unary<uint8_t, NotPredicate> : isBits(type) ? unaryOf<Not>(type) : nullptr);
}

template <typename Op>
void oneOperand(Form &form) {
  Type type = form.takeType();
  takeOperands(form, type, 1);
  setHandler(form, unaryOf<Op>(type));
}

template <typename Op>
void shift(Form &form) {
  Type type = form.takeType();
  form.instruction.type = type;
  form.expected = 3;
  form.dest(0);
  form.source(1, type);
  form.source(2, Type::U32);
  form.instruction.from.push_back(form.instruction.from.back());
  setHandler(form, ternaryOf<Op>(type));
}

void find(Form &form) {
  bool shift = form.take("shiftamt");
  Type type = form.takeType();
  takeOperands(form, type, 1);
  setHandler(form, shift ? unaryOf<FindShift>(type) : unaryOf<FindLeading>(type));
}

void extract(Form &form) {
  Type type = form.takeType();
  takeOperands(form, type, 3);
  setHandler(form, ternaryOf<Extract>(type));
}

void insert(Form &form) {
  Type type = form.takeType();
  takeOperands(form, type, 4);
  form.instruction.run = typeBytes(type) == 8 ? insertField<uint64_t> : insertField<uint32_t>;
}

void takePermute(Form &form) {
  form.instruction.detail = form.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) + 1;
  takeOperands(form, form.takeType(), 3);
  form.instruction.run = permute;
}

void takeLookup(Form &form) {
  takeOperands(form, form.takeType(), 3);
  form.instruction.detail = form.literal(4);
  form.expected = 5;
  form.instruction.run = lookup3;
}

void takeFunnel(Form &form) {
  bool right = form.take("r");
  if (!right && !form.take("l"))
    form.fail("it needs .l or .r");
  bool wrap = form.take("wrap");
  if (!wrap && !form.take("clamp"))
    form.fail("it needs .wrap or .clamp");
  takeOperands(form, form.takeType(), 3);
  form.instruction.detail = right | wrap << 1;
  form.instruction.run = funnel;
}
} // namespace

void addBitOpcodes(llvm::StringMap<Decode> &table) {
  table["and"] = logic<And>;
  table["or"] = logic<Or>;
  table["xor"] = logic<Xor>;
  table["not"] = invert;
  table["cnot"] = oneOperand<LogicalNot>;
  table["popc"] = oneOperand<CountOnes>;
  table["clz"] = oneOperand<CountZeros>;
  table["brev"] = oneOperand<Reverse>;
  table["bfind"] = find;
  table["shl"] = shift<ShiftLeft>;
  table["shr"] = shift<ShiftRight>;
  table["bfe"] = extract;
  table["bfi"] = insert;
  table["prmt"] = takePermute;
  table["lop3"] = takeLookup;
  table["shf"] = takeFunnel;
}

} // namespace attn::ptx
