// The trajectory store as a file: evaluations by key, kept across sweeps.
//
// Invariants:
//  - A key holds the hash of the program's math (math_stamp), so that numbers of another version are never served; they age out.
//  - Several processes of one host may use the file at once. What a process found is written in one transaction (`flush`); a killed process
//    loses what it had not flushed, nothing else.
//  - The file keeps below its cap: what was used longest ago goes first.
#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <unordered_map>

#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/sweep/sqlite.hpp"

namespace straggler {

class EvaluationFile final : public TrajectoryStore {
 public:
  static constexpr std::uint64_t default_cap = std::uint64_t{256} << 20;  // bytes

  explicit EvaluationFile(const std::filesystem::path& file, std::uint64_t cap = default_cap);
  ~EvaluationFile() override;

  std::optional<Evaluation> find(const Key& evaluation) override;
  void keep(const Key& evaluation, const Evaluation& value) override;
  /// Writes what is new and what was used. Throws ResultsError; then everything stays in memory.
  void flush();
  void clear();

  struct Facts {
    std::uint64_t evaluations = 0, of_this_program = 0, bytes = 0, cap = 0;
  };
  Facts facts();
  const std::filesystem::path& file() const { return database_.file(); }
  /// $XDG_CACHE_HOME/straggler/store.sqlite, or ~/.cache/…; empty if neither is known.
  static std::filesystem::path default_file();

 private:
  struct Known {
    Evaluation value;
    bool fresh = false, used = false;
  };
  void make_room();

  std::mutex mutex_;
  Database database_;
  const std::uint64_t cap_;
  std::unordered_map<Key, Known, KeyHash> known_;  // what this process found or made
  std::uint64_t fresh_ = 0, used_ = 0;
};

}  // namespace straggler
