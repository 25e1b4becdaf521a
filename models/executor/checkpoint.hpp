// A checkpoint on disk: the state of a run's math plane at the publication of a version.
//
// Little-endian 64-bit words: a magic number; the identity; the version; the log of requests up to it (checkpointing.hpp); then every
// live value, key and floats; and a hash of all that. The file appears atomically; an older one is kept until then.
#pragma once
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/executor/executor.hpp"

namespace straggler {

/// Must be equal for a run to resume a checkpoint.
struct CheckpointIdentity {
  Key scenario;                // as parsed, with the forced choices
  Key root;                    // of the lineage: data, model, seed
  std::string kernels, build;  // bits depend on both
};

/// One of the two is above 0; both 0: no checkpoints.
struct CheckpointInterval {
  double seconds = 0;         // of wall-clock time
  std::uint64_t updates = 0;  // published versions
  bool given() const { return seconds > 0 || updates > 0; }
};

struct LoggedEvaluation {
  Key weights;
  EvaluationSet set = EvaluationSet::test;
  Evaluation result;
};

struct CheckpointHead {
  CheckpointIdentity identity;
  CheckpointInterval interval;
  std::uint64_t version = 0;
  std::vector<std::uint64_t> forced;  // versions whose weights were evaluated for checkpoints; the last is `version`
  std::vector<LoggedEvaluation> evaluations;
};

/// Throws DataError if none could be written there.
void probe_checkpoint(const std::filesystem::path& file);
/// Returns the size in bytes. Throws DataError; the previous file is then untouched.
std::uint64_t write_checkpoint(const std::filesystem::path& file, const CheckpointHead& head,
                               const std::vector<Executor::LiveValue>& values, std::size_t length);

/// The values are read on demand, from the file that was opened.
class CheckpointFile {
 public:
  /// Reads the file through once. Throws DataError if it is not a checkpoint, truncated or damaged.
  explicit CheckpointFile(const std::filesystem::path& file);

  const CheckpointHead& head() const { return head_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t values() const { return values_; }
  /// The next value; false after the last.
  bool next(Key& key, std::vector<float>& floats);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void verify();
  void read_head();
  void read(void* to, std::size_t bytes);
  std::uint64_t word();
  std::uint64_t count(std::uint64_t bytes_each);
  std::uint64_t left() const;
  std::string text();
  [[noreturn]] void fail(const std::string& sentence) const;

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t bytes_ = 0, values_ = 0, length_ = 0, taken_ = 0;
  CheckpointHead head_;
};

}  // namespace straggler
