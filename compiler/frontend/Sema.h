//===- Sema.h - names, types and extents of one attention -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the syntax tree to a typed program. Every rule of the language's types is here or in
// Review.h; nothing here knows MLIR.
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_FRONTEND_SEMA_H
#define ATTN_COMPILER_FRONTEND_SEMA_H

#include "compiler/frontend/Ast.h"
#include "compiler/frontend/Builder.h"
#include "compiler/frontend/Words.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace attn::language {

/// Extents that the user fixes when compiling: `-D W=4096`.
using FixedExtents = std::map<std::string, int64_t>;

/// The defs of a spec by name. Reports names that are taken: by a file in front, or by the language.
using DefTable = llvm::StringMap<const ast::Def *>;
DefTable collectDefs(llvm::ArrayRef<const ast::File *> files, Diagnostics &diagnostics);

/// Null when something was refused; every reason has been reported.
std::unique_ptr<Program> checkAttention(const ast::Attention &attention, const DefTable &defs,
                                        const FixedExtents &fixed, Diagnostics &diagnostics);

class Sema {
public:
  Sema(const ast::Attention &attention, const DefTable &defs, const FixedExtents &fixed, Diagnostics &diagnostics)
      : attention(attention), defs(defs), fixed(fixed), diagnostics(diagnostics), program(std::make_unique<Program>()),
        build(*program, diagnostics) {}
  std::unique_ptr<Program> run();

private:
  /// What a name means: a stored tensor as it stands, or a value.
  struct Binding {
    Node *value = nullptr;
    std::optional<unsigned> stored;
  };
  /// The use of a def: its parameters stand for expressions of the caller.
  struct Frame {
    const ast::Def *def = nullptr;
    const Frame *caller = nullptr;
    llvm::StringMap<const ast::Expr *> params;
    /// What the parameters that were asked for are, in the caller's scope.
    mutable llvm::StringMap<Node *> typed;
  };

  // SemaDecls.cpp: axes, arguments, results.
  void collectAxes();
  void collectAxesOf(const ast::Expr *expr);
  void addAxis(const ast::Word &word);
  void declareAll();
  void declare(const ast::Decl &decl, Mode mode);
  std::optional<Extent> extentOf(const ast::Expr *expr, llvm::StringRef purpose);
  bool refuseIndexName(const ast::Word &name, llvm::StringRef what);

  // SemaExtents.cpp: facts, extents, requirements.
  void solve();
  void collectFacts(ExtentProblem &problem);
  void collectRagged(ExtentProblem &problem);
  void adopt(const ExtentSolution &solution);
  void checkPackedDims();
  void defineRagged();
  void checkRequirements();
  llvm::SMRange placeOfAxis(unsigned axis) const;

  // SemaExpr.cpp: names, operators, subscripts.
  Node *check(const ast::Expr *expr);
  Node *checkNumber(const ast::NumberExpr *number);
  Node *checkName(const ast::NameExpr *name);
  Node *checkParam(llvm::StringRef name);
  Node *checkAxis(const ast::AxisExpr *axis);
  Node *checkUnary(const ast::UnaryExpr *unary);
  Node *checkBinary(const ast::BinaryExpr *binary);
  Node *checkChain(const ast::CompareExpr *chain);
  Node *checkPlace(const ast::PlaceExpr *place);
  Node *checkByName(const ast::ByNameExpr *byName);
  Node *unknownName(const ast::NameExpr *name);
  Node *readBare(unsigned stored, const Place &place);
  Node *readByPlace(unsigned stored, llvm::ArrayRef<Node *> indices, const Place &place);
  Node *takeByPlace(unsigned stored, Node *value, llvm::ArrayRef<Node *> indices, const Place &place);
  bool checkIndices(llvm::ArrayRef<Node *> indices);
  std::string placeExample(unsigned stored) const;
  std::optional<unsigned> findAxis(const ast::Word &word);
  std::optional<unsigned> lookUpAxis(llvm::StringRef name) const;
  std::optional<unsigned> lookUpIndex(llvm::StringRef name) const;
  std::optional<unsigned> lookUpStored(llvm::StringRef name) const;

  // SemaCalls.cpp: functions.
  Node *checkCall(const ast::CallExpr *call);
  Node *checkDefUse(const ast::CallExpr *call, const ast::Def *def);
  bool checkSignature(const ast::CallExpr *call, const Builtin &builtin);
  Node *checkElementwise(const ast::CallExpr *call, const Builtin &builtin);
  Node *checkReduction(const ast::CallExpr *call, const Builtin &builtin);
  Node *checkNormaliser(const ast::CallExpr *call);
  Node *checkDot(const ast::CallExpr *call);
  Node *checkProject(const ast::CallExpr *call);
  Node *checkSelect(const ast::CallExpr *call);
  bool limitContraction(const ast::CallExpr *call, Node *&left, Node *right);
  std::optional<AxisSet> checkOver(const ast::CallExpr *call);
  bool checkHasAxes(Node *value, AxisSet over, llvm::StringRef what, const Place &place);
  Node *limited(const ast::CallExpr *call, Node *value);

  // SemaRope.cpp.
  struct Rotation {
    Node *cosine, *sine;
    unsigned pairAxis;
  };
  Node *checkRope(const ast::CallExpr *call);
  std::optional<Rotation> rotationByAngle(const ast::CallExpr *call, Node *value, unsigned axis);
  std::optional<Rotation> rotationByPosition(const ast::CallExpr *call, unsigned axis);
  Node *withinATurn(Node *angle, const Place &place);
  Node *rotationAngle(Node *position, Node *base, Node *width, unsigned pairAxis, const Place &place);
  std::optional<Extent> rotatedWidth(const ast::CallExpr *call, unsigned axis);
  unsigned pairAxisFor(unsigned axis, const Extent &width, llvm::SMRange where);
  std::optional<bool> arePairsInterleaved(const ast::CallExpr *call);
  bool checkNoDependence(AxisSet rest, AxisSet gone, const Place &place);

  // SemaStatements.cpp.
  void checkStatement(const ast::Statement &statement);
  void assign(const ast::Statement &statement, Node *value);
  void assignResult(const ast::Statement &statement, unsigned stored, Node *value);
  void write(const ast::Statement &statement, unsigned stored, llvm::ArrayRef<Node *> indices, Node *value,
             const ast::Expr *condition);
  void append(const ast::Statement &statement, const ast::CallExpr *call);
  Node *rename(const ast::Statement &statement, Node *value);
  Node *limit(Node *value, Node *condition, const Place &place);
  Node *fitStore(unsigned stored, Node *value);
  std::optional<unsigned> writable(const ast::Statement &statement);
  void finishResults();

  Place placeOf(llvm::SMRange range) const;
  std::string renameHint(AxisSet have, unsigned wanted) const;
  void error(const Place &place, const llvm::Twine &message, const std::vector<Diagnostics::Note> &notes = {}) {
    diagnostics.error(place, message, notes);
  }

  const ast::Attention &attention;
  const DefTable &defs;
  const FixedExtents &fixed;
  Diagnostics &diagnostics;
  std::unique_ptr<Program> program;
  Builder build;
  llvm::StringMap<unsigned> axisNumbers, indexNumbers;
  llvm::MapVector<llvm::StringRef, Binding> names;
  /// Indices that a statement tried to assign: reported there, silent afterwards.
  llvm::StringSet<> misnamed;
  const Frame *frame = nullptr;
  unsigned frames = 0;
  llvm::SMRange outermostUse;
};

} // namespace attn::language

#endif // ATTN_COMPILER_FRONTEND_SEMA_H
