// A result folder that appears whole or not at all.
//
// Invariants:
//  - Everything is written into a hidden folder on the same file system and renamed into place by commit().
//  - Without commit() nothing is left behind, and existing files are untouched.
//  - A hidden folder is locked (flock) while its run lives; folders that killed runs left are removed by the next run beside them.
//  - In a folder that is replaced, summary.json goes first and comes last: a folder that has one is complete.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/out_file.hpp"

namespace straggler {

class ResultFolder {
 public:
  struct Request {
    std::filesystem::path out;  // where the results go
    std::string scenario_name;
    std::filesystem::path scenario_file;  // never overwritten
    bool force = false;                   // replace results of another scenario or scheme
    std::string scheme = {};              // empty: results of any scheme are replaced
  };
  /// Refuses a folder that holds results of another scenario or scheme or anything else, and one that cannot be written; makes the
  /// hidden folder. Throws ResultsError.
  explicit ResultFolder(const Request& request);
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;
  ~ResultFolder();

  /// Where the results will be, as the user wrote it.
  const std::filesystem::path& out() const { return out_; }
  /// Where to write `file` for now, and how messages call it.
  std::filesystem::path temporary(const std::string& file) const { return temporary_ / file; }
  std::string shown(const std::string& file) const { return (out_ / file).string(); }
  /// Renames everything into place; result files of an earlier run that this one did not write go. Throws ResultsError.
  void commit();

 private:
  void refuse_what_is_not_ours(const Request& request) const;
  void make_temporary(const std::string& scenario_name);
  void replace_files();
  void unlock();

  std::filesystem::path out_, target_, temporary_;
  int lock_ = -1;                               // descriptor of the hidden folder
  std::vector<std::filesystem::path> created_;  // folders above the target that did not exist, outermost first
};

/// A folder beside `out` that is free: its name with a number.
std::string free_neighbour(const std::filesystem::path& out);

/// The scenario whose run writes into this hidden folder now; none: it is no hidden folder, or its run was killed. For folders that have
/// been there for a moment: a run makes its folder, then locks it.
std::optional<std::string> run_that_writes_into(const std::filesystem::path& folder);

/// Names of all files that `run` may write; the first is written first and the last, summary.json, completes a folder.
const std::vector<std::string>& result_files();

}  // namespace straggler
