//===- Check.cpp - attnc check --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled kernels against the interpreter: odd extents, ordinary and adversarial inputs, layouts, 1 to 3 threads. Each
// element must lie within the interpreter's bound, and the bits must not depend on threads or layout.
//===----------------------------------------------------------------------===//
#include "dialects/reference/Compare.h"
#include "dialects/reference/Interpreter.h"
#include "tools/attnc/Arguments.h"
#include "tools/attnc/Execute.h"
#include "tools/attnc/Grid.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Session.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <set>

namespace cl = llvm::cl;
using namespace attn;
using namespace attnc;
using reference::Outcome;

static cl::opt<std::string> caseName("case", cl::desc("Only this kind of input (--list-cases)"), cl::value_desc("name"),
                                     cl::sub(checkCommand()));
static cl::opt<bool> listCases("list-cases", cl::desc("List the kinds of input"), cl::sub(checkCommand()));
static cl::opt<double> effort("effort", cl::desc("Largest number of operations of one case (default 2e7; in the simulator 2e4)"),
                              cl::sub(checkCommand()));
static cl::opt<std::string> objectPath("object", cl::desc("Check the kernels of this object file, not those compiled now"),
                                       cl::value_desc("file"), cl::sub(checkCommand()));
static cl::opt<bool> asJson("json", cl::desc("Print one JSON object instead of text"), cl::sub(checkCommand()));

namespace {

struct Totals {
  Outcome outcome = Outcome::NothingCompared;
  int64_t cases = 0, skipped = 0, elements = 0, failed = 0;
  std::string whySkipped; // the first
  /// The element nearest to its bound, or furthest past it.
  reference::Difference worst;
  std::string worstPlace;
};

constexpr llvm::StringLiteral routeAttribute = "attn.route";

/// The route that a module wants; empty where it says nothing.
std::string routeOf(mlir::ModuleOp module) {
  auto route = module->getAttrOfType<mlir::StringAttr>(routeAttribute);
  return route ? route.str() : std::string();
}

/// Kernels as one route compiles them.
struct Route {
  std::string name;
  std::unique_ptr<LoadedObject> object;
};

/// One set of inputs for one program.
struct Case {
  const Signature &program;
  std::string replay; // the command that runs it again
  reference::Buffers inputs;
};

class Checker {
public:
  /// `device`: null for kernels of this processor.
  Checker(std::vector<Route> routes, Device *device, Totals &totals)
      : routes(std::move(routes)), device(device), totals(totals) {}

  /// An error where the check itself could not run.
  llvm::Error run(const Case &checked, const reference::Results &expected) {
    ++totals.cases;
    for (Route &route : routes) {
      std::optional<reference::Buffers> first;
      if (device) {
        if (llvm::Error error = runOnDevice(route, checked, expected, first))
          return error;
        continue;
      }
      // The compact layout with each number of threads, then every other layout.
      for (int threads : {1, 2, 3})
        if (llvm::Error error = runOnce(route, checked, expected, threads, Layout::Compact, first))
          return error;
      for (Layout layout : {Layout::Padded, Layout::Strided, Layout::Reversed})
        if (llvm::Error error = runOnce(route, checked, expected, 1 + int(layout) % 3, layout, first))
          return error;
    }
    return llvm::Error::success();
  }

private:
  /// A device has no number of threads to choose. The compact layout, then another one with threads in another order.
  llvm::Error runOnDevice(Route &route, const Case &checked, const reference::Results &expected,
                          std::optional<reference::Buffers> &first) {
    constexpr Layout others[] = {Layout::Padded, Layout::Strided, Layout::Reversed};
    device->reorder(0);
    if (llvm::Error error = runOnce(route, checked, expected, 1, Layout::Compact, first))
      return error;
    device->reorder(totals.cases);
    return runOnce(route, checked, expected, 1, others[totals.cases % std::size(others)], first);
  }

  llvm::Error runOnce(Route &route, const Case &checked, const reference::Results &expected, int threads, Layout layout,
                      std::optional<reference::Buffers> &first) {
    auto where = [&] {
      return " (" + (routes.size() > 1 ? "route " + route.name + ", " : "") + (device ? device->name() : std::to_string(threads) + " threads") +
             ", " + layoutName(layout).str() + " arguments)\n  again: " + checked.replay;
    };
    auto call = Call::prepare(*route.object, checked.program, checked.inputs, threads, layout, device);
    if (!call)
      return call.takeError();
    if (llvm::Error error = (*call)->run()) {
      mismatch((device ? "failed on" : "refused") + std::string(" inputs that the interpreter takes: ") + llvm::toString(std::move(error)) + where());
      return llvm::Error::success();
    }
    auto results = (*call)->results();
    if (!results) {
      mismatch(llvm::toString(results.takeError()) + where());
      return llvm::Error::success();
    }
    if (!first) {
      first = *results;
      return compareAll(checked, expected, *results, where());
    }
    for (const auto &[name, buffer] : *results)
      if (buffer.bytes != first->at(name).bytes) {
        mismatch("the bits of '" + name + "' differ from those on one thread with compact arguments" + where());
        return llvm::Error::success();
      }
    return llvm::Error::success();
  }

  llvm::Error compareAll(const Case &checked, const reference::Results &expected, const reference::Buffers &actual,
                         const std::string &where) {
    for (const auto &[name, result] : expected) {
      auto found = actual.find(name);
      if (found == actual.end())
        continue;
      auto comparison = reference::compare(name, result, found->second);
      if (!comparison)
        return comparison.takeError();
      totals.outcome = reference::combine(totals.outcome, comparison->outcome());
      totals.elements += comparison->compared;
      totals.failed += comparison->failed;
      if (!comparison->worstElements.empty()) {
        const auto &[difference, place] = comparison->worstElements.front();
        if (difference.ratio >= totals.worst.ratio) {
          totals.worst = difference;
          totals.worstPlace = name + " " + place;
        }
      }
      if (comparison->outcome() == Outcome::Mismatch) {
        llvm::outs() << checked.program.name << ":\n";
        comparison->print(llvm::outs());
        llvm::outs() << where << '\n';
      }
    }
    return llvm::Error::success();
  }

  void mismatch(const std::string &text) {
    totals.outcome = Outcome::Mismatch;
    ++totals.failed;
    llvm::outs() << text << '\n';
  }

  std::vector<Route> routes;
  Device *device;
  Totals &totals;
};

bool isCudaTarget(const Driver &driver) {
  return llvm::StringRef(driver.getOptions().targets.front()).starts_with("cuda:");
}

/// What one case may cost: a simulator executes far fewer operations in a second.
double effortFor(const Driver &driver) { return effort ? double(effort) : isCudaTarget(driver) ? 2e4 : 2e7; }

/// Sizes that the chosen schedule works in.
llvm::Expected<std::vector<int64_t>> chosenTiles(Driver &driver, mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> decided = module.clone();
  (*decided)->removeAttr(routeAttribute); // All routes have the same schedules.
  if (failed(driver.lower(*decided, "decide")))
    return llvm::createStringError("the stages down to `decide` failed");
  std::set<int64_t> sizes;
  decided->walk([&](StageOp stage) {
    ScheduleAttr schedule = stage.getSchedule();
    sizes.insert({schedule.getLanes(), schedule.getLanes() * schedule.getVectors(), schedule.getRows(),
                  schedule.getQueryTile(), schedule.getKeyTile()});
  });
  return std::vector<int64_t>(sizes.begin(), sizes.end());
}

std::string quoted(llvm::StringRef text) { return text.contains(' ') ? "'" + text.str() + "'" : text.str(); }

/// The command up to what differs from case to case.
std::string command(const Driver &driver, const Signature &program) {
  std::string text = "attnc check " + quoted(specPath) + " --kernel=" + program.name.str();
  for (const std::string &folder : driver.getOptions().importFolders)
    text += " -I " + quoted(folder);
  for (const auto &[axis, extent] : driver.getOptions().defines)
    text += " -D " + axis + "=" + std::to_string(extent);
  if (driver.getOptions().targets.front() != "host")
    text += " --target=" + driver.getOptions().targets.front();
  if (!driver.getOptions().packed.empty())
    text += " --packed=" + llvm::join(driver.getOptions().packed, ",");
  if (!driver.getOptions().schedulePath.empty())
    text += " --schedule=" + quoted(driver.getOptions().schedulePath);
  if (!driver.getOptions().tuningPath.empty())
    text += " --tuning=" + quoted(driver.getOptions().tuningPath);
  if (!objectPath.empty())
    text += " --object=" + quoted(objectPath);
  if (std::string route = routeOf(program.body->getParentOp()->getParentOfType<mlir::ModuleOp>()); !route.empty())
    text += " --route=" + route;
  return text;
}

llvm::Error checkGrid(const Driver &driver, const Signature &program, llvm::ArrayRef<int64_t> tiles, Checker &checker,
                      Totals &totals) {
  auto chosen = chosenExtents();
  if (!chosen)
    return chosen.takeError();
  std::vector<Extents> grid = extentGrid(program, *chosen, tiles, effortFor(driver));
  if (grid.empty())
    llvm::errs() << program.name << ": no extents to try: they contradict the spec, or take more than "
                 << llvm::format("%g", effortFor(driver)) << " operations (see --effort)\n";
  llvm::ArrayRef<reference::InputCase> all = reference::inputCases();
  for (auto [number, extents] : llvm::enumerate(grid)) {
    for (auto [which, inputCase] : llvm::enumerate(all)) {
      // All kinds of input on the first extents; elsewhere the ordinary kind and one more, in turn.
      bool wanted = caseName.empty() ? number == 0 || which == 0 || which == 1 + number % (all.size() - 1)
                                     : inputCase.name == caseName;
      if (!wanted)
        continue;
      auto accepted = makeAcceptedInputs(program, extents, inputCase, chosenSeed());
      if (!accepted) {
        std::string why = llvm::toString(accepted.takeError());
        if (!totals.skipped++)
          totals.whySkipped = extentsText(program, extents) + ", case " + inputCase.name.str() + ": " + why;
        continue;
      }
      std::string again = command(driver, program) + " --set " + extentsText(program, extents) +
                          " --case=" + inputCase.name.str() + " --seed=" + std::to_string(chosenSeed());
      if (llvm::Error error = checker.run({program, again, std::move(accepted->inputs)}, accepted->expected))
        return error;
    }
  }
  return llvm::Error::success();
}

/// The kernels to check: those of an object file, or of the route that is wanted, or with --route=all of every one.
llvm::Expected<std::vector<Route>> loadRoutes(Driver &driver, mlir::ModuleOp module) {
  std::vector<std::string> names{routeOf(module)};
  if (names.front() == "all")
    names = {"mlir", "halide"};
  std::vector<Route> routes;
  for (const std::string &name : names) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    if (!name.empty())
      (*copy)->setAttr(routeAttribute, mlir::StringAttr::get(module.getContext(), name));
    auto object = objectPath.empty() ? loadObject(driver, *copy) : loadObject(objectPath);
    if (!object)
      return object.takeError();
    routes.push_back({name, std::move(*object)});
  }
  return routes;
}

llvm::Error checkAll(Driver &driver, mlir::ModuleOp module, Totals &totals) {
  auto routes = loadRoutes(driver, module);
  if (!routes)
    return routes.takeError();
  llvm::Expected<std::vector<int64_t>> tiles = std::vector<int64_t>{8, 64};
  if (objectPath.empty())
    tiles = chosenTiles(driver, module);
  if (!tiles)
    return tiles.takeError();
  auto device = openDevice(driver, /*mayBeSimulated=*/true);
  if (!device)
    return device.takeError();
  Checker checker(std::move(*routes), device->get(), totals);
  if (hasGivenInputs()) {
    auto program = onlyProgram(module);
    if (!program)
      return program.takeError();
    auto inputs = gatherInputs(*program);
    if (!inputs)
      return inputs.takeError();
    auto expected = reference::interpret(program->body->getParentOp(), *inputs);
    if (!expected)
      return expected.takeError();
    return checker.run({*program, command(driver, *program) + " with the same --in", std::move(*inputs)}, *expected);
  }
  for (const Signature &program : programsOf(module))
    if (llvm::Error error = checkGrid(driver, program, *tiles, checker, totals))
      return error;
  return llvm::Error::success();
}

void report(const Totals &totals) {
  llvm::StringRef word = totals.outcome == Outcome::Agree      ? "agree"
                         : totals.outcome == Outcome::Mismatch ? "mismatch"
                                                               : "nothing compared";
  if (asJson) {
    llvm::json::OStream json(llvm::outs(), 2);
    json.object([&] {
      json.attribute("outcome", word);
      json.attribute("cases", totals.cases);
      json.attribute("skipped", totals.skipped);
      json.attribute("elements", totals.elements);
      json.attribute("failed", totals.failed);
      json.attribute("worst_ratio", totals.worst.ratio);
      json.attribute("worst_error", totals.worst.error);
      json.attribute("worst_bound", totals.worst.radius);
      json.attribute("worst_place", totals.worstPlace);
    });
    llvm::outs() << '\n';
    return;
  }
  llvm::outs() << word << ": " << totals.cases << " cases, " << totals.elements << " elements compared, " << totals.failed
               << " wrong";
  if (totals.skipped)
    llvm::outs() << ", " << totals.skipped << " cases without valid inputs (the first: " << totals.whySkipped << ")";
  llvm::outs() << llvm::format("; largest error %.2g of its bound", totals.worst.ratio);
  if (!totals.worstPlace.empty())
    llvm::outs() << " at " << totals.worstPlace;
  llvm::outs() << '\n';
}

} // namespace

int attnc::runCheck() {
  if (listCases) {
    for (const reference::InputCase &inputCase : reference::inputCases()) {
      llvm::outs() << inputCase.name;
      llvm::outs().indent(16 - inputCase.name.size()) << inputCase.what << '\n';
    }
    return success;
  }
  if (!caseName.empty() && !reference::findInputCase(caseName)) {
    printError("'" + caseName + "' is not a kind of input; --list-cases lists them");
    return couldNotRun;
  }
  auto session = loadSpec();
  if (!session)
    return couldNotRun;
  Totals totals;
  if (llvm::Error error = checkAll(*session->driver, *session->module, totals)) {
    printError(std::move(error));
    return couldNotRun;
  }
  report(totals);
  return totals.outcome == Outcome::Agree ? success : totals.outcome == Outcome::Mismatch ? failure : couldNotRun;
}
