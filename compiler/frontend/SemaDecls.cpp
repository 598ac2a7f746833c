//===- SemaDecls.cpp - axes, arguments, results -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/frontend/Review.h"
#include "compiler/frontend/Sema.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attn::language;
using namespace attn::language::ast;
using llvm::StringRef;

static void addDef(const Def &def, DefTable &defs, Diagnostics &diagnostics) {
  StringRef name = def.name.text;
  if (findBuiltin(name))
    diagnostics.error(def.name.range(), "`" + name + "` is a function of the language; name the def otherwise");
  else if (!defs.try_emplace(name, &def).second)
    diagnostics.error(def.name.range(), "`" + name + "` is defined twice",
                      {{defs.lookup(name)->name.range(), "first here"}});
  llvm::StringMap<bool> params;
  for (const Word &param : def.params)
    if (!params.try_emplace(param.text, true).second)
      diagnostics.error(param.range(), "two parameters are called `" + param.text + "`");
}

DefTable attn::language::collectDefs(llvm::ArrayRef<const ast::File *> files, Diagnostics &diagnostics) {
  DefTable defs;
  for (const ast::File *file : files)
    for (const Item &item : file->items)
      if (item.def)
        addDef(*item.def, defs, diagnostics);
  return defs;
}

std::unique_ptr<Program> attn::language::checkAttention(const ast::Attention &attention, const DefTable &defs,
                                                        const FixedExtents &fixed, Diagnostics &diagnostics) {
  return Sema(attention, defs, fixed, diagnostics).run();
}

std::unique_ptr<Program> Sema::run() {
  Diagnostics::Watch watch(diagnostics);
  program->name = attention.name.text.str();
  program->precise = attention.precise;
  program->range = attention.name.range();
  collectAxes();
  if (watch.sawErrors())
    return nullptr;
  declareAll();
  if (watch.sawErrors())
    return nullptr;
  solve();
  if (watch.sawErrors())
    return nullptr;
  for (const Statement &statement : attention.body) {
    checkStatement(statement);
    build.warnOfLiteralQuotients();
  }
  finishResults();
  if (watch.sawErrors())
    return nullptr;
  review(*program, diagnostics);
  return watch.sawErrors() ? nullptr : std::move(program);
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

void Sema::collectAxes() {
  for (const std::vector<Decl> *decls : {&attention.params, &attention.results})
    for (const Decl &decl : *decls)
      for (const Dim &dim : decl.dims)
        for (const Expr *factor : dim.factors)
          collectAxesOf(factor);
  for (const Fact &fact : attention.facts) {
    if (fact.kind != Fact::Kind::Requirement)
      addAxis(fact.axis);
    collectAxesOf(fact.value);
  }
}

void Sema::collectAxesOf(const Expr *expr) {
  if (auto *axis = llvm::dyn_cast<AxisExpr>(expr))
    return addAxis({axis->name});
  if (auto *paren = llvm::dyn_cast<ParenExpr>(expr))
    return collectAxesOf(paren->inner);
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(expr))
    return collectAxesOf(unary->operand);
  llvm::SmallVector<const Expr *> children;
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(expr))
    children = {binary->left, binary->right};
  if (auto *chain = llvm::dyn_cast<CompareExpr>(expr))
    children.append(chain->operands.begin(), chain->operands.end());
  if (auto *place = llvm::dyn_cast<PlaceExpr>(expr))
    children.append(place->indices.begin(), place->indices.end());
  if (auto *call = llvm::dyn_cast<CallExpr>(expr))
    children.append(call->args.begin(), call->args.end());
  for (const Expr *child : children)
    collectAxesOf(child);
}

void Sema::addAxis(const Word &word) {
  if (axisNumbers.contains(word.text))
    return;
  if (program->axes.size() == AxisSet::capacity)
    return error(word.range(), "more than " + llvm::Twine(AxisSet::capacity) + " axes; split the attention");
  Axis axis;
  axis.name = word.text.str();
  axis.index = word.text.lower();
  axis.firstMention = word.range();
  auto [other, isNew] = indexNumbers.try_emplace(axis.index, program->axes.size());
  if (!isNew) {
    const Axis &first = program->axes[other->second];
    error(word.range(),
          "the axes " + first.name + " and " + word.text + " would both have the index `" + axis.index +
              "`; give one another name",
          {{first.firstMention, "first here"}});
  }
  axisNumbers.try_emplace(word.text, program->axes.size());
  program->axes.push_back(std::move(axis));
}

std::optional<unsigned> Sema::lookUpAxis(StringRef name) const {
  auto found = axisNumbers.find(name);
  return found == axisNumbers.end() ? std::nullopt : std::optional<unsigned>(found->second);
}

std::optional<unsigned> Sema::lookUpIndex(StringRef name) const {
  auto found = indexNumbers.find(name);
  return found == indexNumbers.end() ? std::nullopt : std::optional<unsigned>(found->second);
}

std::optional<unsigned> Sema::lookUpStored(StringRef name) const {
  for (auto [i, stored] : llvm::enumerate(program->stored))
    if (stored.name == name)
      return i;
  return std::nullopt;
}

std::optional<unsigned> Sema::findAxis(const Word &word) {
  if (std::optional<unsigned> axis = lookUpAxis(word.text))
    return axis;
  NearestWord nearest(word.text);
  for (const Axis &axis : program->axes)
    if (!axis.isInternal)
      nearest.offer(axis.name);
  error(placeOf(word.range()), "no axis is called " + word.text +
                                   "; axes come from the dimensions of arguments and from the `where` clause" +
                                   nearest.question());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// Another name for a tensor that must not be called `name`.
static StringRef longerName(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("q", "query")
      .Case("k", "key")
      .Case("v", "value")
      .Case("x", "input")
      .Case("y", "output")
      .Case("w", "weight")
      .Case("m", "mask")
      .Case("s", "score")
      .Default("");
}

bool Sema::refuseIndexName(const Word &name, StringRef what) {
  std::optional<unsigned> axis = lookUpIndex(name.text);
  if (!axis)
    return false;
  std::string proposal = longerName(name.text).str();
  while (proposal.empty() || lookUpIndex(proposal) || names.count(proposal))
    proposal = (proposal.empty() ? name.text.str() : proposal) + "in";
  error(name.range(),
        "`" + name.text + "` is the index of the axis " + program->axes[*axis].name + ", so no " + what +
            " may have this name; call it `" + proposal + "`, or give the axis another name",
        {{program->axes[*axis].firstMention, "the axis " + program->axes[*axis].name}});
  return true;
}

void Sema::declareAll() {
  for (const Decl &decl : attention.params)
    declare(decl, decl.isInout ? Mode::InOut : Mode::In);
  program->numParams = program->stored.size();
  for (const Decl &decl : attention.results)
    declare(decl, Mode::Out);
}

void Sema::declare(const Decl &decl, Mode mode) {
  refuseIndexName(decl.name, "tensor");
  if (std::optional<unsigned> other = lookUpStored(decl.name.text))
    error(decl.name.range(), "`" + decl.name.text + "` is declared twice",
          {{program->stored[*other].range, "first here"}});
  Stored stored;
  stored.name = decl.name.text.str();
  stored.mode = mode;
  stored.range = decl.range;
  std::optional<Dtype> dtype = parseDtype(decl.dtype.text);
  if (dtype)
    stored.dtype = *dtype;
  else
    error(decl.dtype.range(),
          "`" + decl.dtype.text + "` is no dtype; there are f32 f16 bf16 f8e4m3 f8e5m2 i8 u8 i32 i64 bool");
  for (const Dim &dim : decl.dims) {
    stored.dims.emplace_back();
    for (const Expr *factor : dim.factors)
      stored.dims.back().push_back(extentOf(factor, "a dimension").value_or(Extent::constant(1)));
  }
  names[decl.name.text] = {nullptr, static_cast<unsigned>(program->stored.size())};
  program->stored.push_back(std::move(stored));
}

std::optional<Extent> Sema::extentOf(const Expr *expr, StringRef purpose) {
  expr = stripped(expr);
  if (auto *number = llvm::dyn_cast<NumberExpr>(expr); number && number->isInteger)
    return Extent::constant(number->integer);
  if (auto *axis = llvm::dyn_cast<AxisExpr>(expr))
    return Extent::axis(*lookUpAxis(axis->name));
  auto *binary = llvm::dyn_cast<BinaryExpr>(expr);
  auto kind = llvm::StringSwitch<std::optional<Extent::Kind>>(binary ? binary->op.text : "")
                  .Case("+", Extent::Kind::Add)
                  .Case("-", Extent::Kind::Sub)
                  .Case("*", Extent::Kind::Mul)
                  .Case("/", Extent::Kind::Div)
                  .Case("%", Extent::Kind::Mod)
                  .Default(std::nullopt);
  if (!kind) {
    error(expr->range, purpose + " is made of axes and integers with + - * / %");
    return std::nullopt;
  }
  std::optional<Extent> left = extentOf(binary->left, purpose), right = extentOf(binary->right, purpose);
  if (!left || !right)
    return std::nullopt;
  return Extent::binary(*kind, *left, *right);
}
