// The trajectory store as a file: evaluations and values of lineage nodes by key, kept across sweeps.
//
// Invariants:
//  - A key holds the hash of the program's math (math_stamp), so that numbers of another version are never served; they age out.
//  - Each row holds a checksum: data from a damaged disk is never served.
//  - Several processes of one host may use the file at once. A process writes its values in transactions (`flush`), now and then and at the
//    end; a killed process loses only what it had not flushed.
//  - The file stays below its cap with any number of writers: each transaction first makes room by removing the least recently used rows,
//    evaluations and values alike. SQLite's log beside it holds the current writes, and is cut back to `log_bytes` afterwards.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/sweep/sqlite.hpp"

namespace straggler {

class EvaluationFile final : public TrajectoryStore {
 public:
  static constexpr std::uint64_t default_cap = std::uint64_t{512} << 20;  // bytes
  static constexpr int default_patience_ms = 10'000;
  /// Called once with the reason if the file becomes unusable; the run continues in memory.
  using Tell = std::function<void(const std::string&)>;

  /// With `tell` nothing here throws ResultsError: if the file cannot be used (any more), known and new values are kept in memory.
  explicit EvaluationFile(const std::filesystem::path& file, std::uint64_t cap = default_cap, Tell tell = {},
                          int patience_ms = default_patience_ms);
  ~EvaluationFile() override;

  std::optional<Evaluation> find(const Key& evaluation) override;
  void keep(const Key& evaluation, const Evaluation& value) override;
  std::vector<Key> values(const Key& root) override;
  bool find_value(const Key& root, const Key& value, std::span<float> to) override;
  void keep_value(const Key& root, const Key& value, std::span<const float> floats) override;
  void forget_value(const Key& root, const Key& value) override;
  std::uint64_t value_budget() const override { return cap_ / 16; }
  /// Writes new and recently used rows. Throws ResultsError; then everything stays in memory.
  void flush();
  void clear();

  struct Facts {
    std::uint64_t evaluations = 0, own_evaluations = 0;  // own: by this program's math
    std::uint64_t values = 0, own_values = 0, value_bytes = 0;
    std::uint64_t file_bytes = 0, cap = 0;
    std::optional<std::int64_t> older;  // version of its format, if an earlier one than this program writes; nothing is counted then
  };
  Facts facts();
  /// Of a file that is only looked at: it stays as it is. Throws ResultsError.
  static Facts facts_of(const std::filesystem::path& file);
  const std::filesystem::path& file() const { return file_; }
  /// $XDG_CACHE_HOME/straggler/store.sqlite, or ~/.cache/…; empty if neither is known.
  static std::filesystem::path default_file();

 private:
  using Name = std::pair<Key, Key>;  // root, value
  struct Known {
    Evaluation value;
    bool fresh = false, used = false;
  };
  struct Open;
  void open(const std::filesystem::path& file);
  /// Runs `body`, which uses the file; where that fails and there is a warning to give, once more on a store in memory.
  template <class Body>
  auto guarded(const Body& body);
  void go_without(const std::string& why);
  void remove_value(const Key& root, const Key& value);
  void write(bool values);
  /// Marks used rows, so that they are kept.
  void touch_evaluations();
  void touch_values();
  /// Bytes of the file that are in use.
  std::uint64_t live_bytes();
  /// Bytes that `write` may add, at most.
  std::uint64_t incoming_bytes(bool values) const;
  void make_room(std::uint64_t incoming);
  /// Removes the least recently used rows, about this many bytes.
  void drop_oldest(std::uint64_t bytes);
  /// Evaluations and values together.
  std::uint64_t rows();
  /// They stop where the file would grow beyond its cap.
  void write_evaluations();
  void write_values();
  void shrink_file();
  void flush_if_due();
  void forget_all();

  const std::filesystem::path file_;
  const std::uint64_t cap_;
  const int patience_ms_;
  std::mutex mutex_;  // over all below
  Tell tell_;         // empty: throw
  std::unique_ptr<Open> open_;
  std::unordered_map<Key, Known, KeyHash> known_;  // values that this process found or made
  std::uint64_t fresh_ = 0, used_ = 0;
  std::map<Name, std::vector<float>> fresh_values_;
  std::set<Name> used_values_;
  std::uint64_t fresh_bytes_ = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point flushed_ = Clock::now(), values_flushed_ = Clock::now();
};

}  // namespace straggler
