//===- MaskFormula.h - a mask as affine conditions --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data: conditions on integer sums of the keys' indices, of numbers that a row knows (symbols) and of floored
// quotients. Negations have been pushed into the comparisons. Knows no operations.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_OPTIMIZE_MASKFORMULA_H
#define ATTN_COMPILER_OPTIMIZE_MASKFORMULA_H

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace attn {

/// The index of a key axis, something that a row knows, or a quotient; numbered per kind.
struct MaskVariable {
  enum Kind { Key, Symbol, Quotient } kind;
  unsigned number;
  bool operator<(const MaskVariable &other) const {
    return kind != other.kind ? kind < other.kind : number < other.number;
  }
  bool operator==(const MaskVariable &other) const { return kind == other.kind && number == other.number; }
};

/// A sum of variables times numbers, and a constant. No coefficient is 0.
struct AffineForm {
  int64_t constant = 0;
  std::map<MaskVariable, int64_t> terms;

  static AffineForm number(int64_t value) { return {value, {}}; }
  static AffineForm variable(MaskVariable::Kind kind, unsigned number) { return {0, {{{kind, number}, 1}}}; }
  int64_t operator[](MaskVariable variable) const;
  bool isSymbolic() const; ///< of symbols alone
  bool operator==(const AffineForm &other) const { return constant == other.constant && terms == other.terms; }
};

/// Numbers that leave 60 bits belong to no form: nothing then.
std::optional<AffineForm> sumOf(const AffineForm &a, const AffineForm &b, int64_t times = 1);
std::optional<AffineForm> scaled(const AffineForm &form, int64_t factor);

struct Formula {
  enum Kind {
    Unknown,  ///< holds or not: nothing is known
    AtLeast,  ///< form >= 0
    Zero,     ///< form == 0
    All, Any, ///< of the parts; All of none holds always, Any of none never
  } kind = All;
  AffineForm form;
  std::vector<Formula> parts;

  static Formula unknown() { return {Unknown, {}, {}}; }
  static Formula always() { return {All, {}, {}}; }
  static Formula never() { return {Any, {}, {}}; }
  static Formula atLeastZero(AffineForm form) { return {AtLeast, std::move(form), {}}; }
  static Formula zero(AffineForm form) { return {Zero, std::move(form), {}}; }
  static Formula all(std::vector<Formula> parts) { return {All, {}, std::move(parts)}; }
  static Formula any(std::vector<Formula> parts) { return {Any, {}, std::move(parts)}; }
  bool isKnown() const;
};

/// floor(dividend / divisor), divisor > 0; the dividend speaks of keys, symbols and quotients with smaller numbers.
struct MaskQuotient {
  AffineForm dividend;
  int64_t divisor;
};

} // namespace attn

#endif // ATTN_COMPILER_OPTIMIZE_MASKFORMULA_H
