// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extents of one call: each axis from the program's plan, ragged ones from
// what `attn.ragged` says. Checks arguments' dimensions and the program's
// facts.
#ifndef ATTN_DIALECTS_REFERENCE_SPACE_H
#define ATTN_DIALECTS_REFERENCE_SPACE_H

#include "dialects/reference/Tensor.h"
#include "llvm/ADT/StringMap.h"

namespace attn::reference {

class Space {
public:
  /// Solves every axis that is not ragged, then checks facts and dimensions.
  static llvm::Expected<Space> solve(const Signature &signature,
                                     const Buffers &arguments);

  /// The axis' extent; a ragged one's largest. Nothing where it is not known
  /// (yet).
  std::optional<int64_t> extent(mlir::StringAttr axis) const;
  /// What a dimension's factor evaluates to.
  llvm::Expected<int64_t> evaluate(ExtentAttr factor) const;

  /// The axes that `axis`'s extent depends on; none for ordinary ones.
  llvm::ArrayRef<mlir::StringAttr> dependsOn(mlir::StringAttr axis) const;
  bool isRagged(mlir::StringAttr axis) const {
    return !dependsOn(axis).empty();
  }
  /// The extents of a ragged axis over what it depends on; null before they are
  /// set.
  const Tensor *raggedExtent(mlir::StringAttr axis) const;
  void setRagged(mlir::StringAttr axis, Tensor extents);

  /// All elements present and 0. An error where an extent is not known yet.
  llvm::Expected<Tensor> blank(llvm::ArrayRef<mlir::StringAttr> axes,
                               mlir::Type element) const;
  /// Makes absent what lies past the extent of a ragged axis.
  void cutRagged(Tensor &tensor) const;

private:
  std::optional<int64_t> lookup(llvm::StringRef name) const;
  llvm::Error checkDimensions(llvm::StringRef name, RefType type,
                              llvm::ArrayRef<int64_t> shape) const;

  llvm::StringMap<int64_t> known;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::StringAttr, 2>>
      dependencies;
  llvm::DenseMap<mlir::StringAttr, Tensor> raggedExtents;
};

} // namespace attn::reference

#endif
