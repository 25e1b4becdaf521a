// Files that are dropped on the page, and what an import makes of them: a folder each in ROOT/imported.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "sim/base/hidden_folder.hpp"

namespace straggler {

/// One drop at a time. Its files lie in a hidden folder of ROOT until they are imported, or another drop comes.
class DroppedFiles {
 public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;  // of one drop
  static constexpr std::size_t most_files = 4096;

  explicit DroppedFiles(std::filesystem::path root) : root_(std::move(root)) {}
  /// Waits for an import that goes on.
  ~DroppedFiles();
  DroppedFiles(const DroppedFiles&) = delete;
  DroppedFiles& operator=(const DroppedFiles&) = delete;

  /// `files`: [{name, bytes}]. Gives the drop's name. Throws std::invalid_argument ("what is wrong; what would be right").
  std::string open(const nlohmann::ordered_json& files);
  /// Where file `index` of the drop is to be written, of `bytes` bytes. Throws std::invalid_argument.
  std::filesystem::path place(const std::string& drop, std::size_t index, std::uint64_t bytes);
  /// It is there as a whole.
  void arrived(const std::string& drop, std::size_t index);
  /// Imports the files in a thread of its own, and calls `done` with `name`, `said` ([[label, sentence]]), `folder`, `page` and `scenario`
  /// (as seen from ROOT; null: there is none), or with `problem`. Throws std::invalid_argument if files are missing.
  using Done = std::function<void(nlohmann::ordered_json)>;
  void import(const std::string& drop, Done done);

 private:
  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    bool there = false;
  };
  void clear();
  nlohmann::ordered_json imported(const std::vector<std::filesystem::path>& files) const;

  const std::filesystem::path root_;
  mutable std::mutex mutex_;
  std::string drop_;  // guarded by mutex_, as all below; empty: there is none
  HiddenFolder folder_;
  std::vector<File> files_;
  bool busy_ = false;
  std::thread thread_;
};

}  // namespace straggler
