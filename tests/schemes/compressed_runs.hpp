// What tests of compressed messages share.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "models/compression/compressor.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/schemes.hpp"
#include "tests/support/text.hpp"

namespace straggler::test {

using Sets = std::vector<std::string>;

inline Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

inline std::string top_k_of(const std::string& fraction, bool feedback = true, const std::string& direction = "up") {
  return "training.compression={kind: top_k, fraction: " + fraction + ", error_feedback: " + (feedback ? "true" : "false") +
         ", direction: " + direction + "}";
}

inline bool same_weights(const Result& a, const Result& b) {
  return !a.weights.empty() && a.weights.size() == b.weights.size() &&
         std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)) == 0;
}

/// Largest difference of a weight; infinite where the vectors are no match.
inline double farthest(const std::vector<float>& a, const std::vector<float>& b) {
  double most = a.empty() || a.size() != b.size() ? 1e300 : 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double off = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    most = off <= most ? most : std::isnan(off) ? 1e300 : off;
  }
  return most;
}

inline std::uint64_t sent_by_workers(const RunRecord& record) {
  std::uint64_t sum = 0;
  for (const WorkerRecord& worker : record.workers) sum += worker.bytes_sent;
  return sum;
}

/// The one line with which the scenario is refused; empty: it runs.
inline std::string refusal_of(const Sets& sets, const std::string& yaml = cluster(2)) {
  try {
    run_timing(yaml, sets);
  } catch (const ScenarioErrors& errors) {
    return errors.lines().size() == 1 ? errors.lines().front() : "several lines";
  }
  return "";
}

/// The variant as a scenario with compression has it.
inline std::string text_with_compression(const SchemeVariant& variant) {
  ParameterTexts given = variant.given;
  for (const auto& each : variant.entry->with_compression) given.insert(each);
  return variant_of(*variant.entry, given).text();
}

/// 1, 3, or 4 where it cannot run with 3.
inline int workers_for(const SchemeVariant& variant) {
  return variant.entry->only_workers ? 1 : fits(*variant.entry, variant.parameters, 3) ? 3 : 4;
}

/// Killed at the first checkpoint and resumed, it has the weights of an undisturbed run.
inline void check_killed_and_resumed(const std::vector<std::string>& sets) {
  struct Killed {};
  const TemporaryFolder folder;
  const Result undisturbed = run(cluster(3), sets);
  RunOptions options;
  CheckpointRequest request;
  request.file = folder.path() / "run.checkpoint";
  request.interval.updates = 4;
  request.build = "this one";
  request.tell = [](const CheckpointNote& note) {
    if (note.what == CheckpointNote::What::written) throw Killed();
  };
  options.checkpoint = request;
  CHECK_THROWS_AS(run(cluster(3), sets, options), Killed);
  options.checkpoint->interval = {};
  options.checkpoint->resume = true;
  std::uint64_t from = 0;
  options.checkpoint->tell = [&](const CheckpointNote& note) {
    if (note.what == CheckpointNote::What::reached) from = note.version;
  };
  const Result resumed = run(cluster(3), sets, options);
  CHECK(from == 4);
  CHECK(same_weights(undisturbed, resumed));
  CHECK(undisturbed.record.weights_key == resumed.record.weights_key);
}

}  // namespace straggler::test
