// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole-number arithmetic. Sums and products wrap; they are computed in 64 or 128 bits and cut.
#include "tools/ptx/Lanes.h"

namespace attn::ptx {

namespace {
template <typename T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

struct Add {
  template <typename T>
  static T run(T a, T b) {
    return T(uint64_t(a) + uint64_t(b));
  }
};
struct AddSaturate {
  template <typename T>
  static T run(T a, T b) {
    constexpr Wide<T> least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
    return T(std::clamp<Wide<T>>(Wide<T>(a) + b, least, greatest));
  }
};
struct Subtract {
  template <typename T>
  static T run(T a, T b) {
    return T(uint64_t(a) - uint64_t(b));
  }
};
struct SubtractSaturate {
  template <typename T>
  static T run(T a, T b) {
    constexpr Wide<T> least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
    return T(std::clamp<Wide<T>>(Wide<T>(a) - b, least, greatest));
  }
};
struct MultiplyLow {
  template <typename T>
  static T run(T a, T b) {
    return T(uint64_t(a) * uint64_t(b));
  }
};
struct MultiplyHigh {
  template <typename T>
  static T run(T a, T b) {
    return T(Wide<T>(a) * b >> (8 * sizeof(T)));
  }
};
/// Division by zero is not defined; the hardware's answer is all ones.
struct Divide {
  template <typename T>
  static T run(T a, T b) {
    return b ? T(Wide<T>(a) / b) : T(-1);
  }
};
struct Remainder {
  template <typename T>
  static T run(T a, T b) {
    return b ? T(Wide<T>(a) % b) : T(a);
  }
};
struct Minimum {
  template <typename T>
  static T run(T a, T b) {
    return std::min(a, b);
  }
};
struct Maximum {
  template <typename T>
  static T run(T a, T b) {
    return std::max(a, b);
  }
};
struct Absolute {
  template <typename T>
  static T run(T a) {
    return a < 0 ? T(-uint64_t(a)) : a;
  }
};
struct Negate {
  template <typename T>
  static T run(T a) {
    return T(-uint64_t(a));
  }
};

struct MultiplyAddLow {
  template <typename T>
  static T run(uint64_t a, uint64_t b, uint64_t c) {
    return T(a * b + c);
  }
};
struct MultiplyAddHigh {
  template <typename T>
  static T run(uint64_t a, uint64_t b, uint64_t c) {
    return T(uint64_t(MultiplyHigh::run(fromBits<T>(a), fromBits<T>(b))) + c);
  }
};
/// The product has twice the width of T, and so has the sum.
struct MultiplyAddWide {
  template <typename T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c) {
    return uint64_t(Wide<T>(fromBits<T>(a)) * fromBits<T>(b)) + c;
  }
};
struct MultiplyWide {
  template <typename T>
  static uint64_t run(T a, T b) {
    return uint64_t(Wide<T>(a) * b);
  }
};
/// |a - b| + c.
struct SumOfDifference {
  template <typename T>
  static T run(uint64_t a, uint64_t b, uint64_t c) {
    T x = fromBits<T>(a), y = fromBits<T>(b);
    return T((x < y ? uint64_t(y) - uint64_t(x) : uint64_t(x) - uint64_t(y)) + c);
  }
};

template <typename Op, bool saturates = false, typename Saturated = Op>
void arithmetic(Form &form) {
  Type type = form.takeType();
  if (isFloat(type))
    return decodeFloatArithmetic(form, type);
  takeOperands(form, type, 2);
  setHandler(form, saturates && form.take("sat") ? binaryOf<Saturated>(type) : binaryOf<Op>(type));
}

/// add.cc and sub.cc set the carry, addc and subc read it too. `detail`: 1 subtracts, 2 reads, 4 sets.
template <typename T>
void carryArithmetic(Warp &warp, const Instruction &in, uint32_t active) {
  uint64_t *d = warp.row(in.to[0]);
  const uint64_t *a = warp.row(in.from[0]), *b = warp.row(in.from[1]);
  eachLane(active, [&](unsigned i) {
    T x = T(a[i]), y = T(b[i]);
    bool carryIn = in.detail & 2 && warp.carry >> i & 1;
    unsigned __int128 sum = in.detail & 1 ? (unsigned __int128)x - y - carryIn : (unsigned __int128)x + y + carryIn;
    d[i] = T(sum);
    if (in.detail & 4)
      warp.carry = (warp.carry & ~(1u << i)) | uint32_t(sum >> (8 * sizeof(T)) & 1) << i;
  });
}

void takeCarry(Form &form, uint64_t detail) {
  Type type = form.takeType();
  takeOperands(form, type, 2);
  form.instruction.detail = detail;
  form.instruction.run = typeBytes(type) == 8 ? carryArithmetic<uint64_t> : carryArithmetic<uint32_t>;
}

template <typename Op, typename Saturated, uint64_t subtracts>
void sum(Form &form) {
  if (form.take("cc"))
    return takeCarry(form, subtracts | 4);
  arithmetic<Op, true, Saturated>(form);
}

template <uint64_t subtracts>
void sumWithCarry(Form &form) {
  takeCarry(form, subtracts | 2 | (form.take("cc") ? 4 : 0));
}

void multiply(Form &form) {
  bool low = form.take("lo"), high = form.take("hi"), wide = form.take("wide");
  Type type = form.takeType();
  if (isFloat(type))
    return decodeFloatArithmetic(form, type);
  takeOperands(form, type, 2);
  if (low + high + wide != 1)
    return form.fail("it needs one of .lo, .hi and .wide");
  setHandler(form, low    ? binaryOf<MultiplyLow>(type)
                   : high ? binaryOf<MultiplyHigh>(type)
                          : binaryOf<MultiplyWide>(type));
}

void multiplyAdd(Form &form) {
  bool low = form.take("lo"), high = form.take("hi"), wide = form.take("wide");
  Type type = form.takeType();
  if (isFloat(type))
    return decodeFloatArithmetic(form, type);
  takeOperands(form, type, 3);
  if (low + high + wide != 1)
    return form.fail("it needs one of .lo, .hi and .wide");
  setHandler(form, low    ? ternaryOf<MultiplyAddLow>(type)
                   : high ? ternaryOf<MultiplyAddHigh>(type)
                          : ternaryOf<MultiplyAddWide>(type));
}

void sumOfDifference(Form &form) {
  Type type = form.takeType();
  takeOperands(form, type, 3);
  setHandler(form, ternaryOf<SumOfDifference>(type));
}

template <typename Op>
void oneOperand(Form &form) {
  Type type = form.takeType();
  if (isFloat(type))
    return decodeFloatArithmetic(form, type);
  takeOperands(form, type, 1);
  setHandler(form, unaryOf<Op>(type));
}
} // namespace

void addIntegerOpcodes(llvm::StringMap<Decode> &table) {
  table["add"] = sum<Add, AddSaturate, 0>;
  table["sub"] = sum<Subtract, SubtractSaturate, 1>;
  table["addc"] = sumWithCarry<0>;
  table["subc"] = sumWithCarry<1>;
  table["mul"] = multiply;
  table["mad"] = multiplyAdd;
  table["div"] = arithmetic<Divide>;
  table["rem"] = arithmetic<Remainder>;
  table["min"] = arithmetic<Minimum>;
  table["max"] = arithmetic<Maximum>;
  table["abs"] = oneOperand<Absolute>;
  table["neg"] = oneOperand<Negate>;
  table["sad"] = sumOfDifference;
}

} // namespace attn::ptx
