#include "scenarios/results/result_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "scenarios/results/reader.hpp"
#include "sim/base/hidden_folder.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace fs = std::filesystem;

const std::vector<std::string>& result_files() {
  static const std::vector<std::string> files{
      "scenario.yaml", "order.csv",    "choices.csv", "curve.csv",   "thresholds.csv",    "staleness.csv",  "epochs.csv", "workers.csv",
      "links.csv",     "recovery.csv", "trace.json",  "report.html", "model.safetensors", "vocabulary.txt", "run.json",   "summary.json"};
  return files;
}

std::string free_neighbour(const fs::path& out) {
  fs::path base = out;
  if (!base.has_filename()) base = base.parent_path();
  if (base.filename() == "." || base.filename() == "..") return "DIR";
  std::error_code ignored;
  for (int number = 2;; ++number) {
    std::string candidate = fmt::format("{}-{}", base.string(), number);
    if (!fs::exists(candidate, ignored)) return candidate;
  }
}

namespace {

bool is_hidden_folder(const fs::path& path) { return path.filename().string().find(hidden_mark) != std::string::npos; }

/// The name that the scenario.yaml of a result folder carries. The file was written by this program: one `name:` line, unindented.
std::optional<std::string> scenario_name_in(const fs::path& folder) {
  std::ifstream file(folder / "scenario.yaml");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("name:", 0) != 0) continue;
    const auto keep = [](char c) { return c != ' ' && c != '"' && c != '\'' && c != '\r'; };
    std::string name;
    std::copy_if(line.begin() + 5, line.end(), std::back_inserter(name), keep);
    return name;
  }
  return std::nullopt;
}

/// Of the run whose results the folder holds; empty: not known.
std::string scheme_in(const fs::path& folder) {
  try {
    for (const SummaryField& field : read_summary(folder / "summary.json"))
      if (field.key == "scheme") return field.value.written();
  } catch (const ResultsError&) {  // of another version, or damaged
  }
  return {};
}

bool holds_nothing(const fs::path& folder, std::error_code& error) {
  return std::all_of(fs::directory_iterator(folder, error), fs::directory_iterator(),
                     [](const fs::directory_entry& entry) { return is_hidden_folder(entry.path()); });
}

std::string other_out(const fs::path& out, const fs::path& target, const std::string& scenario_name) {
  const fs::path usual = fs::path("results") / scenario_name;
  std::error_code ignored;
  if (fs::weakly_canonical(usual, ignored) != target && (!fs::exists(usual, ignored) || scenario_name_in(usual) == scenario_name))
    return usual.string();
  return free_neighbour(out);
}

/// The mode of a hidden folder becomes that of any new folder in it, which the umask and the folder above decide.
void give_usual_mode(const fs::path& folder) {
  const fs::path usual = folder / ".usual";
  struct stat made {};
  if (::mkdir(usual.c_str(), 0777) != 0) return;
  if (::stat(usual.c_str(), &made) == 0) ::chmod(folder.c_str(), made.st_mode & 07777);
  ::rmdir(usual.c_str());
}

[[noreturn]] void cannot(const fs::path& out, const std::string& what, const std::error_code& why) {
  throw ResultsError(fmt::format("{}: {}: {}; choose a folder that can be written with --out", out.string(), what, why.message()));
}

}  // namespace

ResultFolder::ResultFolder(const Request& request) : out_(request.out) {
  std::error_code error;
  target_ = fs::weakly_canonical(fs::absolute(request.out), error);
  if (error) cannot(out_, "is not a usable folder name", error);
  if (!target_.has_filename()) target_ = target_.parent_path();
  refuse_what_is_not_ours(request);
  make_temporary(request.scenario_name);
}

void ResultFolder::refuse_what_is_not_ours(const Request& request) const {
  std::error_code error;
  const fs::file_status status = fs::status(target_, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw ResultsError(fmt::format("{}: is a file, not a folder; choose another with --out", out_.string()));

  const auto advice = [&] { return other_out(out_, target_, request.scenario_name); };
  const fs::path scenario = fs::weakly_canonical(request.scenario_file, error);
  const auto& written = result_files();
  if (!request.scenario_file.empty() && scenario.parent_path() == target_ &&
      std::find(written.begin(), written.end(), scenario.filename().string()) != written.end())
    throw ResultsError(fmt::format("{}: the results would overwrite the scenario file {}; use --out {}", out_.string(),
                                   request.scenario_file.string(), advice()));
  if (request.force || holds_nothing(target_, error)) {
    if (error) cannot(out_, "cannot be read", error);
    return;
  }

  const std::optional<std::string> holder = scenario_name_in(target_);
  // A lone scenario.yaml is more likely a user's scenario than a result.
  const bool results = fs::exists(target_ / "order.csv", error) || fs::exists(target_ / "summary.json", error);
  if (holder && results && *holder == request.scenario_name) {
    const std::string scheme = request.scheme.empty() ? std::string() : scheme_in(target_);
    if (scheme.empty() || scheme == request.scheme) return;
    throw ResultsError(fmt::format("{}: holds the results of {} with scheme {}, not {}; use --out {}, or --force to replace them",
                                   out_.string(), in_quotes(*holder), in_quotes(scheme), in_quotes(request.scheme), free_neighbour(out_)));
  }
  if (holder && results)
    throw ResultsError(fmt::format("{}: holds the results of scenario {}, not of {}; use --out {}, or --force to replace them",
                                   out_.string(), in_quotes(*holder), in_quotes(request.scenario_name), advice()));
  if (const std::string other = results_of_another_command(target_); !other.empty())
    throw ResultsError(fmt::format("{}: {}; use --out {}", out_.string(), other, advice()));
  throw ResultsError(fmt::format("{}: is not empty and holds no results of straggler; use --out {}, or --force to write into it",
                                 out_.string(), advice()));
}

void ResultFolder::make_temporary(const std::string& scenario_name) {
  std::error_code error, ignored;
  std::vector<fs::path> missing;
  for (fs::path above = target_.parent_path(); !above.empty() && !fs::exists(above, error); above = above.parent_path())
    missing.push_back(above);
  const auto undo = [&] {
    for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder) fs::remove(*folder, ignored);
  };
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (fs::create_directory(*folder, error)) created_.push_back(*folder);
    if (error) {
      undo();
      cannot(out_, fmt::format("folder {} cannot be made", folder->string()), error);
    }
  }
  // Beside the target, so that a new folder appears in one step; inside it if the parent folder cannot be written (a mount point, another
  // user's folder).
  for (const fs::path& place : {target_.parent_path(), target_}) {
    remove_abandoned(place, {scenario_name});
    const HiddenFolder made = make_hidden_folder(place, scenario_name, error);
    temporary_ = made.path;
    lock_ = made.lock;
    const bool exists = fs::is_directory(target_, ignored);
    if (!error && exists) {
      // Only a rename shows whether both are on one file system.
      const fs::path probe = target_ / temporary_.filename();
      if (place != target_) {
        fs::rename(temporary_, probe, error);
        if (!error) fs::rename(probe, temporary_, error);
      }
    }
    if (!error) return;
    if (!temporary_.empty()) fs::remove(temporary_, ignored);
    unlock();
    if (!exists) break;
  }
  temporary_.clear();
  undo();
  cannot(out_, "cannot be written", error);
}

std::optional<std::string> run_that_writes_into(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const std::size_t mark = name.rfind(hidden_mark);
  if (!name.starts_with('.') || mark == std::string::npos || mark == 0) return std::nullopt;
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return std::nullopt;
  const bool free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  ::close(descriptor);
  return free ? std::nullopt : std::optional(name.substr(1, mark - 1));
}

void ResultFolder::unlock() {
  if (lock_ >= 0) ::close(lock_);
  lock_ = -1;
}

ResultFolder::~ResultFolder() {
  std::error_code ignored;
  unlock();
  if (temporary_.empty()) return;
  fs::remove_all(temporary_, ignored);
  for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder) fs::remove(*folder, ignored);
}

void ResultFolder::commit() {
  std::error_code error;
  if (!fs::exists(target_, error)) {
    give_usual_mode(temporary_);
    fs::rename(temporary_, target_, error);
    if (error) cannot(out_, "the results cannot be put there", error);
  } else {
    replace_files();
    fs::remove(temporary_, error);
  }
  unlock();
  temporary_.clear();
  created_.clear();
}

void ResultFolder::replace_files() {
  std::error_code error;
  const auto& names = result_files();
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (*name != "summary.json" && fs::exists(temporary_ / *name, error)) continue;
    fs::remove(target_ / *name, error);
    if (error) cannot(out_, fmt::format("the old {} cannot be removed", *name), error);
  }
  for (const std::string& name : names) {
    if (!fs::exists(temporary_ / name, error)) continue;
    fs::rename(temporary_ / name, target_ / name, error);
    if (error) cannot(out_, fmt::format("{} cannot be put there", name), error);
  }
}

}  // namespace straggler
