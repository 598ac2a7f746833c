//===- Tune.cpp - attnc tune ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches for faster schedules by measurement: a candidate and the best so far take turns, and what is kept has been
// checked against the interpreter. The file that it writes is read by `attnc compile --tuning`, and by the next search.
//===----------------------------------------------------------------------===//
#include "compiler/emit/Files.h"
#include "schedules/Tuning.h"
#include "tools/attnc/KernelTuner.h"
#include "tools/attnc/Options.h"
#include "tools/attnc/Session.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include <atomic>

namespace cl = llvm::cl;
using namespace attn;
using namespace attnc;

static cl::opt<std::string> outputPath("o", cl::desc("The tuning file; what it holds is kept, and a search in it goes on "
                                                     "(default: SPEC.tuning.yaml)"),
                                       cl::value_desc("file"), cl::sub(tuneCommand()));
static cl::opt<std::string> budgetText("time", cl::desc("How long to search, all kernels together: 90s, 10m (default 60s)"),
                                       cl::value_desc("time"), cl::init("60s"), cl::sub(tuneCommand()));

/// Set by an interrupt: the search ends after the candidate under way, and what it found is written.
static std::atomic<bool> interrupted{false};

namespace {

llvm::Expected<double> parseTime(llvm::StringRef text) {
  llvm::StringRef number = text;
  double unit = number.consume_back("m") ? 60 : 1, value;
  if (unit == 1)
    number.consume_back("s");
  if (number.getAsDouble(value) || !(value > 0))
    return llvm::createStringError("--time " + text + " is not a time: write 90s or 10m");
  return value * unit;
}

/// The tuning file, written as a whole after every step: one that is interrupted leaves the last step's.
class TuningFile {
public:
  explicit TuningFile(std::string path) : path(std::move(path)) {}

  llvm::Error load() {
    if (!llvm::sys::fs::exists(path))
      return llvm::Error::success();
    auto text = llvm::MemoryBuffer::getFile(path);
    if (!text)
      return llvm::createStringError(path + ": " + text.getError().message());
    auto parsed = parseTuning((*text)->getBuffer());
    if (!parsed)
      return llvm::createStringError(path + ": " + llvm::toString(parsed.takeError()) +
                                     "; mend it, or move it away to begin anew");
    entries = std::move(*parsed);
    return llvm::Error::success();
  }

  /// The entry with the key, made when it is not there; entries of the same kernel, extents and target that do not hold
  /// any more give way to it, and it becomes the last one.
  TuningEntry &entry(const TuningKey &key) {
    TuningEntry made;
    made.key = key;
    if (TuningEntry *known = findEntry(entries, key))
      made = *known;
    llvm::erase_if(entries, [&](const TuningEntry &other) {
      return other.key.kernel == key.kernel && other.key.extents == key.extents && other.key.target == key.target &&
             other.key.threads == key.threads;
    });
    entries.push_back(std::move(made));
    return entries.back();
  }

  llvm::Error save() const {
    if (llvm::Error error = writeFile(path + ".new", printTuning(entries)))
      return error;
    if (std::error_code problem = llvm::sys::fs::rename(path + ".new", path))
      return llvm::createStringError(path + ": " + problem.message());
    return llvm::Error::success();
  }

private:
  std::string path;
  std::vector<TuningEntry> entries;
};

bool same(const KernelSchedule &one, const KernelSchedule &other) { return scheduleKey(one) == scheduleKey(other); }

/// `rows 8 -> 6`, for each field of each stage that differs.
std::string changes(const KernelSchedule &from, const KernelSchedule &to) {
  static constexpr std::pair<const char *, int64_t Schedule::*> fields[] = {
      {"lanes", &Schedule::lanes},          {"vectors", &Schedule::vectors},
      {"rows", &Schedule::rows},            {"query_tile", &Schedule::queryTile},
      {"key_tile", &Schedule::keyTile},     {"depth_tile", &Schedule::depthTile},
      {"decode_queries", &Schedule::decodeQueries}, {"decode_chunk", &Schedule::decodeChunk}};
  std::string text;
  auto add = [&](llvm::StringRef stage, llvm::StringRef name, const llvm::Twine &old, const llvm::Twine &now) {
    text += ((text.empty() ? "" : ", ") + stage + " " + name + " " + old + " -> " + now).str();
  };
  for (auto [old, now] : llvm::zip(from, to)) {
    if (old.schedule.route != now.schedule.route)
      add(now.name, "route", routeName(old.schedule.route), routeName(now.schedule.route));
    for (auto [name, field] : fields)
      if (old.schedule.*field != now.schedule.*field)
        add(now.name, name, llvm::Twine(old.schedule.*field), llvm::Twine(now.schedule.*field));
  }
  return text;
}

/// One line that is written over on a terminal, else a line for each improvement.
class Progress {
public:
  Progress(std::string kernel) : kernel(std::move(kernel)) {}

  void show(const SearchState &state, double left) {
    bool terminal = llvm::errs().is_displayed();
    if (!terminal && state.gain == shown)
      return;
    shown = state.gain;
    llvm::errs() << (terminal ? "\r\033[K" : "") << kernel << ": " << state.tried.size() << " tried, the best takes "
                 << llvm::format("%.0f %% of the default's time, %.0f s left", 100 / state.gain, std::max(left, 0.0))
                 << (terminal ? "" : "\n");
  }

  void end() {
    if (llvm::errs().is_displayed())
      llvm::errs() << "\r\033[K";
  }

private:
  std::string kernel;
  double shown = 1;
};

llvm::Error tuneKernel(KernelTuner &tuner, const Target &target, TuningFile &file, double seconds) {
  if (llvm::Error error = tuner.prepare())
    return error;
  TuningEntry &entry = file.entry(tuner.key());
  std::string name = tuner.key().kernel + " " + tuner.key().extents;
  if (entry.complete) {
    llvm::outs() << name << ": all that is near was tried before; remove the entry to begin anew\n";
    return file.save();
  }
  SearchState state;
  state.best = entry.stages.empty() ? tuner.defaultSchedule() : entry.stages;
  state.gain = entry.gain;
  state.tried = entry.tried;
  size_t before = state.tried.size();
  Clock::time_point begin = Clock::now();
  Progress progress(tuner.key().kernel);
  llvm::Error problem = llvm::Error::success();
  auto record = [&](const SearchState &now) {
    entry.stages = same(now.best, tuner.defaultSchedule()) ? KernelSchedule() : now.best;
    entry.gain = now.gain;
    entry.tried = now.tried;
    entry.complete = now.complete;
    if (!problem)
      problem = file.save();
  };
  auto stop = [&] { return interrupted || problem || secondsSince(begin) > seconds; };
  search(state, tuner.stageFacts(), target,
         {[&](const KernelSchedule &candidate, const KernelSchedule &best, bool thorough) {
            return tuner.ratio(candidate, best, thorough);
          },
          [&](const KernelSchedule &candidate) { return tuner.isRight(candidate); }, stop,
          [&](const SearchState &now) {
            record(now);
            progress.show(now, seconds - secondsSince(begin));
          }});
  progress.end();
  // Gains of many small steps add up their errors; the last word is a comparison with the default.
  bool changed = !same(state.best, tuner.defaultSchedule());
  if (changed) {
    std::optional<double> ratio = tuner.ratio(state.best, tuner.defaultSchedule(), /*thorough=*/true);
    state.gain = ratio ? 1 / *ratio : 1;
    if (state.gain * worthKeeping < 1) {
      state.best = tuner.defaultSchedule();
      state.gain = 1;
      changed = false;
    }
  }
  record(state);
  if (problem)
    return problem;
  llvm::outs() << name << ", " << tuner.key().threads << (tuner.key().threads == 1 ? " thread: " : " threads: ")
               << state.tried.size() << " schedules tried";
  if (before)
    llvm::outs() << " (" << before << " before)";
  if (changed)
    llvm::outs() << llvm::format(", %.2f times as fast as the default: ", state.gain)
                 << changes(tuner.defaultSchedule(), state.best);
  else
    llvm::outs() << ", the default stands: nothing is more than 2 % faster";
  if (state.wrong)
    llvm::outs() << "; " << state.wrong << " faster ones were wrong and are not kept";
  llvm::outs() << (state.complete ? "\n" : "; more is left to try\n");
  return llvm::Error::success();
}

} // namespace

int attnc::runTune() {
  auto seconds = parseTime(budgetText);
  if (!seconds) {
    printError(seconds.takeError());
    return couldNotRun;
  }
  auto session = loadSpec();
  if (!session)
    return failure;
  Driver &driver = *session->driver;
  auto target = findTarget(driver.getOptions().targets.front());
  if (!target) {
    printError(target.takeError());
    return failure;
  }
  if (target->isCuda()) {
    printError(llvm::createStringError("schedules are searched for on processors; those of " + target->name +
                                       " follow from widths and registers"));
    return couldNotRun;
  }
  if (target->hasDevice()) {
    printError("schedules are searched for on processors, not for " + target->name);
    return couldNotRun;
  }
  TuningFile file(outputPath.empty() ? llvm::sys::path::stem(specPath).str() + ".tuning.yaml" : std::string(outputPath));
  if (llvm::Error error = file.load()) {
    printError(std::move(error));
    return failure;
  }
  llvm::sys::SetInterruptFunction([] { interrupted = true; });
  Clock::time_point begin = Clock::now();
  llvm::SmallVector<ProgramOp> programs(session->module->getOps<ProgramOp>());
  for (auto [i, program] : llvm::enumerate(programs)) {
    KernelTuner tuner(driver, *session->module, program);
    double share = (*seconds - secondsSince(begin)) / double(programs.size() - i);
    if (llvm::Error error = tuneKernel(tuner, *target, file, share)) {
      printError(std::move(error));
      return failure;
    }
    if (interrupted)
      break;
  }
  return success;
}
