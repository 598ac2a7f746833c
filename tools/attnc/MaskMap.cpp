//===- MaskMap.cpp - which tiles a mask leaves ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A character, or a square, for each tile of queries and keys that a kernel walks over.
//===----------------------------------------------------------------------===//
#include "tools/attnc/MaskMap.h"
#include "tools/attnc/Arguments.h"
#include "tools/attnc/MaskTiles.h"
#include "llvm/Support/Format.h"

using namespace attn;
using namespace attnc;

/// Maps of one attention, for several batch entries, at most.
static constexpr unsigned mostEntries = 4;

namespace {

struct TileSizes {
  int64_t block, query, key;
};

/// The tiles of the stage that computes `flash`, which stands at the same place of the spec.
std::optional<TileSizes> sizesOf(FlashOp flash, mlir::ModuleOp decided) {
  std::optional<TileSizes> sizes;
  decided.walk([&](StageOp stage) {
    if (stage.getKind() != StageKind::Flash || Signature(Signature::around(stage)).name !=
                                                   Signature(Signature::around(flash)).name)
      return;
    auto own = *stage.getBody().getOps<FlashOp>().begin();
    ScheduleAttr schedule = stage.getSchedule();
    if (!sizes || own.getLoc() == flash.getLoc())
      sizes = TileSizes{schedule.getLanes() * schedule.getVectors(), schedule.getQueryTile(), schedule.getKeyTile()};
  });
  return sizes;
}

/// Tiles of one batch entry: rows of query tiles, and how many register blocks are of each kind.
struct Map {
  std::vector<std::vector<Tile>> rows;
  int64_t tiles[3] = {}, blocks[3] = {};
};

Map drawn(const MaskTiles &mask, const MaskTiles::Entry &entry, const TileSizes &sizes) {
  Map map;
  for (int64_t s = 0; s < mask.queries(entry); s += sizes.query) {
    std::vector<Tile> &row = map.rows.emplace_back();
    for (int64_t t = 0; t < mask.keys(entry); t += sizes.key) {
      int64_t count[3] = {};
      for (int64_t b = s; b < std::min(s + sizes.query, mask.queries(entry)); b += sizes.block) {
        Tile block = mask.classify(entry, b, std::min(b + sizes.block, mask.queries(entry)), t,
                                   std::min(t + sizes.key, mask.keys(entry)));
        ++count[int(block)];
        ++map.blocks[int(block)];
      }
      bool isEmpty = !count[int(Tile::Partial)] && !count[int(Tile::Full)];
      bool isFull = !count[int(Tile::Partial)] && !count[int(Tile::Empty)];
      row.push_back(isEmpty ? Tile::Empty : isFull ? Tile::Full : Tile::Partial);
      ++map.tiles[int(row.back())];
    }
  }
  return map;
}

std::string countsText(const Map &map, std::optional<int64_t> visible, int64_t pairs) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto counts = [&](const int64_t(&of)[3]) {
    out << of[0] << " empty, " << of[1] << " partial, " << of[2] << " full";
  };
  out << "tiles: ";
  counts(map.tiles);
  out << "; register blocks: ";
  counts(map.blocks);
  out << "; visible pairs: ";
  if (visible)
    out << *visible << " of " << pairs << llvm::format(" (%.1f %%)", pairs ? 100.0 * *visible / pairs : 0.0);
  else
    out << "not known, of " << pairs;
  return text;
}

void printText(const Map &map) {
  for (const std::vector<Tile> &row : map.rows) {
    for (Tile tile : row)
      llvm::outs() << ".+#"[int(tile)];
    llvm::outs() << '\n';
  }
}

void printSvg(const Map &map, llvm::StringRef title) {
  constexpr int side = 8;
  const char *colours[] = {"#f2f2f2", "#f0a830", "#2b6cb0"};
  size_t width = map.rows.empty() ? 0 : map.rows.front().size();
  llvm::outs() << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << std::max<size_t>(width * side, 480)
               << "\" height=\"" << map.rows.size() * side + 20 << "\">\n<text x=\"2\" y=\"14\" font-size=\"10\">" << title
               << "</text>\n";
  for (auto [y, row] : llvm::enumerate(map.rows))
    for (auto [x, tile] : llvm::enumerate(row))
      llvm::outs() << "<rect x=\"" << x * side << "\" y=\"" << y * side + 20 << "\" width=\"" << side - 1 << "\" height=\""
                   << side - 1 << "\" fill=\"" << colours[int(tile)] << "\"/>\n";
  llvm::outs() << "</svg>\n";
}

/// Visits the first batch entries; gives how many there are.
int64_t forEachEntry(const MaskTiles &mask, const Extents &extents,
                     llvm::function_ref<void(const MaskTiles::Entry &, llvm::StringRef)> visit) {
  int64_t count = 1;
  for (mlir::StringAttr axis : mask.entryAxes())
    count *= extents.lookup(axis.getValue());
  for (int64_t i = 0; i < std::min<int64_t>(count, mostEntries); ++i) {
    MaskTiles::Entry entry;
    std::string text;
    int64_t rest = i;
    for (mlir::StringAttr axis : llvm::reverse(mask.entryAxes())) {
      int64_t extent = extents.lookup(axis.getValue());
      entry[axis] = rest % extent;
      text = axis.getValue().lower() + "=" + std::to_string(rest % extent) + (text.empty() ? "" : " ") + text;
      rest /= extent;
    }
    visit(entry, text);
  }
  return count;
}

llvm::Error printMapOf(FlashOp flash, mlir::ModuleOp decided, bool svg) {
  Signature signature(Signature::around(flash));
  auto fail = [&](const llvm::Twine &why) { return llvm::createStringError(signature.name + ": " + why); };
  std::optional<TileSizes> sizes = sizesOf(flash, decided);
  auto axes = FlashAxes::of(flash, signature);
  if (!sizes || mlir::failed(axes))
    return fail("no stage has tiles of queries and keys");
  auto chosen = chosenExtents();
  if (!chosen)
    return chosen.takeError();
  auto extents = extentsFrom(signature, *chosen);
  if (!extents)
    return extents.takeError();
  auto given = givenInputs(signature);
  if (!given)
    return given.takeError();
  auto inputs = makeInputs(signature, *extents, reference::inputCases().front(), 0, lastShrink);
  if (!inputs)
    return inputs.takeError();
  for (const auto &[name, buffer] : *given)
    (*inputs)[name] = buffer;
  auto mask = MaskTiles::of(flash, *axes, *extents, *inputs, *given);
  if (!mask)
    return mask.takeError();
  std::string head = (signature.name + " " + extentsText(signature, *extents)).str();
  if (!svg) {
    llvm::outs() << head << ": " << (axes->lane ? axes->lane.getValue() : "one query") << " down in tiles of "
                 << sizes->query << ", keys across in tiles of " << sizes->key << "; . empty, + partial, # full\n";
    for (llvm::StringRef name : mask->unknown())
      llvm::outs() << "not known: what the mask reads of '" << name << "'; give it with --in\n";
  }
  int64_t count = forEachEntry(*mask, *extents, [&](const MaskTiles::Entry &entry, llvm::StringRef text) {
    Map map = drawn(*mask, entry, *sizes);
    std::string counts = countsText(map, mask->visiblePairs(entry), mask->queries(entry) * mask->keys(entry));
    if (svg)
      return printSvg(map, (head + (text.empty() ? "" : " ") + text + ": " + counts).str());
    if (!text.empty())
      llvm::outs() << text << '\n';
    printText(map);
    llvm::outs() << counts << '\n';
  });
  if (!svg && count > mostEntries)
    llvm::outs() << count - mostEntries << " more of these\n";
  return llvm::Error::success();
}

} // namespace

llvm::Error attnc::printMaskMap(mlir::ModuleOp classified, mlir::ModuleOp decided, bool svg) {
  llvm::SmallVector<FlashOp> flashes;
  classified.walk([&](FlashOp flash) { flashes.push_back(flash); });
  if (flashes.empty())
    return llvm::createStringError("nothing is fused, so no kernel has tiles of queries and keys");
  for (FlashOp flash : flashes)
    if (llvm::Error error = printMapOf(flash, decided, svg))
      return error;
  return llvm::Error::success();
}
