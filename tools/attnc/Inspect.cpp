//===- Inspect.cpp - attnc inspect ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the program after any stage, and compares stages with one another by the interpreter.
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines.h"
#include "compiler/decide/StageSchedules.h"
#include "schedules/CostModel.h"
#include "compiler/emit/LinkHalide.h"
#include "dialects/reference/Compare.h"
#include "dialects/reference/Interpreter.h"
#include "tools/attnc/Arguments.h"
#include "tools/attnc/MaskMap.h"
#include "tools/attnc/Memory.h"
#include "tools/attnc/Options.h"
#include "schedules/KernelPlanText.h"
#include "tools/attnc/Session.h"

namespace cl = llvm::cl;
using namespace attn;
using namespace attnc;

static cl::opt<std::string> after("after", cl::desc("The stage to print (default: parse)"), cl::value_desc("stage"),
                                  cl::init("parse"), cl::sub(inspectCommand()));
static cl::opt<bool> listStages("list-stages", cl::desc("List the stages in order"), cl::sub(inspectCommand()));
static cl::opt<bool> printChanged("print-changed", cl::desc("Print the program after each stage that changed it"),
                                  cl::sub(inspectCommand()));
static cl::opt<bool> interpretEach("interpret-each",
                                   cl::desc("Run each stage down to attn.kernel in the interpreter and compare"),
                                   cl::sub(inspectCommand()));

static cl::opt<std::string> schedule("schedule", cl::ValueOptional,
                                     cl::desc("Print the schedules that were chosen; with =file, use those of a file"),
                                     cl::value_desc("file"), cl::sub(inspectCommand()));
static cl::opt<bool> memory("memory", cl::desc("Print the elements of caches and the workspace (extents: --set)"),
                            cl::sub(inspectCommand()));
enum class Form { MLIR, Numpy, Plan, Stmt, StmtHtml, Schedule };
static cl::opt<Form> form("emit", cl::desc("What to print"), cl::init(Form::MLIR),
                          cl::values(clEnumValN(Form::MLIR, "mlir", "MLIR (default)"),
                                     clEnumValN(Form::Numpy, "numpy", "a NumPy module that computes the same in f64"),
                                     clEnumValN(Form::Plan, "plan", "what Halide is given (with --route=halide)"),
                                     clEnumValN(Form::Stmt, "stmt", "the loops that Halide makes of it"),
                                     clEnumValN(Form::StmtHtml, "stmt-html", "the same to browse"),
                                     clEnumValN(Form::Schedule, "schedule", "Halide's loops before they are lowered")),
                          cl::sub(inspectCommand()));
static cl::opt<std::string> maskMap("mask-map", cl::ValueOptional,
                                    cl::desc("Draw which tiles of queries and keys a mask leaves empty, partial and full "
                                             "(extents: --set, data: --in); =svg as a picture"),
                                    cl::value_desc("svg"), cl::sub(inspectCommand()));

namespace {

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// The module after a stage; nothing after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> moduleAfter(Session &session, llvm::StringRef stage) {
  mlir::OwningOpRef<mlir::ModuleOp> module = session.module->clone();
  if (failed(session.driver->lower(*module, stage)))
    return {};
  return module;
}

int printEachChange(Session &session) {
  std::string previous;
  for (llvm::StringRef stage : stageNames()) {
    auto module = moduleAfter(session, stage);
    if (!module)
      return failure;
    std::string text = printed(*module);
    if (text == previous)
      llvm::outs() << "// ---- " << stage << " changed nothing\n";
    else
      llvm::outs() << "// ---- after " << stage << "\n" << text;
    previous = std::move(text);
    if (stage == after && after.getNumOccurrences())
      break;
  }
  return success;
}

/// Why each stage's schedule is as it is, as comments.
void printReasons(mlir::ModuleOp decided, const Target &target) {
  for (auto [stage, facts] : llvm::zip(schedulesOf(decided), factsOf(decided))) {
    llvm::outs() << "# " << stage.kernel << ", " << stageShapeName(stage.kind) << ' ' << stage.name << '\n';
    for (const std::string &line : explain(stage.schedule, facts, target))
      llvm::outs() << "#   " << line << '\n';
  }
}

/// Compares what a stage computes with what the first one does.
llvm::Expected<reference::Outcome> compareStage(llvm::StringRef stage, const Signature &program,
                                                const AcceptedInputs &accepted) {
  auto results = reference::interpret(program.body->getParentOp(), accepted.inputs);
  if (!results)
    return results.takeError();
  reference::Outcome outcome = reference::Outcome::NothingCompared;
  for (const auto &[name, result] : accepted.expected) {
    auto found = results->find(name);
    if (found == results->end())
      return llvm::createStringError("after " + stage + " there is no result '" + name + "'");
    auto comparison = reference::compare((stage + " " + program.name + " " + name).str(), result, found->second.rounded);
    if (!comparison)
      return comparison.takeError();
    comparison->print(llvm::outs());
    outcome = reference::combine(outcome, comparison->outcome());
  }
  return outcome;
}

/// Extents small enough to interpret a program many times over.
llvm::Expected<Extents> smallExtents(const Signature &program) {
  std::vector<std::pair<std::string, int64_t>> chosen = {};
  for (llvm::StringRef axis : freeAxes(program))
    chosen.emplace_back(axis.str(), axis == "B" ? 2 : axis == "S" || axis == "T" ? 9 : 12);
  auto small = extentsFrom(program, chosen);
  if (small)
    return small;
  llvm::consumeError(small.takeError());
  return extentsFrom(program, llvm::ArrayRef<std::pair<std::string, int64_t>>());
}

/// Small inputs for each program, by its name, and what the first stage makes of them.
llvm::Expected<llvm::StringMap<AcceptedInputs>> smallInputs(Session &session) {
  llvm::StringMap<AcceptedInputs> inputs;
  for (const Signature &program : programsOf(*session.module)) {
    auto extents = smallExtents(program);
    if (!extents)
      return extents.takeError();
    auto accepted = makeAcceptedInputs(program, *extents, reference::inputCases().front(), /*seed=*/0);
    if (!accepted)
      return accepted.takeError();
    inputs.try_emplace(program.name, std::move(*accepted));
  }
  return inputs;
}

llvm::Expected<reference::Outcome> interpretStages(Session &session) {
  auto inputs = smallInputs(session);
  if (!inputs)
    return inputs.takeError();
  reference::Outcome outcome = reference::Outcome::NothingCompared;
  for (llvm::StringRef stage : stageNames()) {
    auto module = moduleAfter(session, stage);
    if (!module)
      return llvm::createStringError("stage " + stage + " failed");
    for (const Signature &program : programsOf(*module)) {
      auto stageOutcome = compareStage(stage, program, inputs->at(program.name));
      if (!stageOutcome)
        return stageOutcome.takeError();
      outcome = reference::combine(outcome, *stageOutcome);
    }
    // Later stages hold no program any more.
    if (stage == "decide")
      break;
  }
  return outcome;
}

int printNumpyModule() {
  if (llvm::StringRef(specPath).ends_with(".mlir")) {
    printError("--emit=numpy prints a spec, and " + specPath + " holds a stage of one");
    return couldNotRun;
  }
  auto options = driverOptions();
  if (!options) {
    printError(options.takeError());
    return couldNotRun;
  }
  auto text = Driver(std::move(*options)).printNumpy(specPath);
  if (failed(text))
    return failure;
  llvm::outs() << *text;
  return success;
}

/// What Halide is given for each stage that it generates, or makes of it.
int printHalide(Session &session) {
  llvm::Expected<Target> target = findTarget(session.driver->getOptions().targets.front());
  if (!target) {
    printError(target.takeError());
    return couldNotRun;
  }
  auto decided = moduleAfter(session, "decide");
  if (!decided)
    return failure;
  bool any = false;
  mlir::WalkResult walked = decided->walk([&](StageOp stage) {
    auto plans = stage->getAttrOfType<mlir::ArrayAttr>("plans");
    if (!plans)
      return mlir::WalkResult::advance();
    any = true;
    for (auto text : plans.getAsRange<mlir::StringAttr>()) {
      llvm::Expected<StagePlan> plan = parsePlan(text.getValue());
      if (!plan) {
        printError(plan.takeError());
        return mlir::WalkResult::interrupt();
      }
      HalideCode code{text.str(), ""};
      if (form != Form::Plan)
        code = compileStage(*plan, halideMachineOf(*target),
                            form == Form::Stmt       ? HalideOutput::Stmt
                            : form == Form::StmtHtml ? HalideOutput::StmtHtml
                                                     : HalideOutput::Schedule);
      if (!code.error.empty()) {
        printError(code.error);
        return mlir::WalkResult::interrupt();
      }
      llvm::outs() << code.bytes;
    }
    return mlir::WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure;
  if (!any) {
    printError("no stage is Halide's: --route=halide gives it attentions and products");
    return couldNotRun;
  }
  return success;
}

} // namespace

int attnc::runInspect() {
  if (listStages) {
    for (llvm::StringRef stage : stageNames())
      llvm::outs() << stage << '\n';
    return success;
  }
  if (!llvm::is_contained(stageNames(), llvm::StringRef(after))) {
    printError("'" + after + "' is not a stage; --list-stages lists them");
    return couldNotRun;
  }
  if (form == Form::Numpy)
    return printNumpyModule();
  bool printSchedule = schedule.getNumOccurrences() && schedule.empty();
  schedulePath = schedule;
  auto session = loadSpec();
  if (!session)
    return failure;
  // Remarks come from all stages, whichever is printed.
  if (session->driver->getOptions().remarks != Remarks::None && !moduleAfter(*session, "lower-to-cuda"))
    return failure;
  if (printSchedule) {
    auto decided = moduleAfter(*session, "decide");
    if (!decided)
      return failure;
    auto target = findTarget(session->driver->getOptions().targets.front());
    if (!target) {
      printError(target.takeError());
      return failure;
    }
    printReasons(*decided, *target);
    llvm::outs() << printSchedules(schedulesOf(*decided));
    return success;
  }
  if (maskMap.getNumOccurrences()) {
    if (!maskMap.empty() && maskMap != "svg") {
      printError("--mask-map draws text, or with =svg a picture; '" + maskMap + "' is neither");
      return couldNotRun;
    }
    auto classified = moduleAfter(*session, "classify-mask"), decided = moduleAfter(*session, "decide");
    if (!classified || !decided)
      return failure;
    if (llvm::Error error = printMaskMap(*classified, *decided, maskMap == "svg")) {
      printError(std::move(error));
      return failure;
    }
    return success;
  }
  if (memory) {
    if (llvm::Error error = printMemory(*session)) {
      printError(std::move(error));
      return failure;
    }
    return success;
  }
  if (form != Form::MLIR)
    return printHalide(*session);
  if (printChanged)
    return printEachChange(*session);
  if (interpretEach) {
    auto outcome = interpretStages(*session);
    if (!outcome) {
      printError(outcome.takeError());
      return couldNotRun;
    }
    return *outcome == reference::Outcome::Agree      ? success
           : *outcome == reference::Outcome::Mismatch ? failure
                                                      : couldNotRun;
  }
  auto module = moduleAfter(*session, after);
  if (!module)
    return failure;
  llvm::outs() << printed(*module);
  return success;
}
