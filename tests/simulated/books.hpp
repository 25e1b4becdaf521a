// What must add up after any run, faults or not, from numbers that are kept independently of each other.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/run.hpp"

namespace straggler::test {

inline Time ticks_of(double seconds) { return Time::from_seconds(seconds); }

/// Time: splits sum to the end, and so do the spans of the trace, phase by phase, without gap or overlap.
inline void check_time(const Result& result) {
  const RunRecord& record = result.record;
  std::vector<Time> reached(record.workers.size());
  std::vector<TimeSplit> split(record.workers.size());
  for (const Span& span : result.sink.spans) {
    CHECK(span.start == reached[span.worker]);
    CHECK(span.end > span.start);
    reached[span.worker] = span.end;
    split[span.worker][span.phase] += span.end - span.start;
  }
  for (const auto& [worker, spent] : result.sink.dropped) {
    split[worker][Phase::compute] -= spent;
    split[worker][Phase::wasted] += spent;
  }
  for (std::size_t i = 0; i < record.workers.size(); ++i) {
    const WorkerRecord& worker = record.workers[i];
    CHECK(worker.split.total() == record.end);
    for (const Time part : worker.split.parts) CHECK(part >= Time());
    CHECK(worker.overlapped <= worker.bytes_in_flight);
    CHECK(worker.bytes_in_flight <= record.end);
    CHECK(worker.split[Phase::communication] <= worker.bytes_in_flight);
    if (result.sink.spans.empty()) continue;
    CHECK(reached[i] == record.end);
    for (std::size_t k = 0; k < phase_count; ++k) CHECK(split[i].parts[k] == worker.split.parts[k]);
  }
}

/// Bytes: sent = received + lost. The network counts what it carries by itself: over the up-links of a star no less than what arrived,
/// no more than what was sent; a worker's own links alike (`plain_star`). A link
/// carries no more than its bandwidth, unless it has bursts or there is no contention (`bounded`).
inline void check_bytes(const Result& result, bool plain_star = true, bool bounded = true) {
  const RunRecord& record = result.record;
  CHECK(record.bytes_sent == record.bytes_received + record.bytes_lost);
  std::uint64_t sent = 0, received = 0;
  for (const WorkerRecord& worker : record.workers) {
    sent += worker.bytes_sent;
    received += worker.bytes_received;
  }
  CHECK(sent <= record.bytes_sent);
  CHECK(received <= record.bytes_received);
  double up = 0, down = 0;
  for (std::size_t id = 0; id < record.links.size; ++id) {
    const LinkRecord link = record.links.row(id);
    CHECK(link.busy <= record.end);
    if (bounded) CHECK(link.bytes <= link.bytes_per_second * link.busy.seconds() * (1 + 1e-9) + 1e-3);
    const bool goes_up = link.name.ends_with(":up");
    (goes_up ? up : down) += link.bytes;
    if (!plain_star || !link.name.starts_with("worker/")) continue;
    const std::size_t rank = std::stoul(link.name.substr(7));
    const double limit = static_cast<double>(goes_up ? record.workers[rank].bytes_sent : record.bytes_sent);
    CHECK(link.bytes <= limit * (1 + 1e-9) + 1);
    if (!goes_up) CHECK(link.bytes >= static_cast<double>(record.workers[rank].bytes_received) * (1 - 1e-9) - 1);
  }
  if (!plain_star) return;
  for (const double carried : {up, down}) {
    CHECK(carried >= static_cast<double>(record.bytes_received) * (1 - 1e-9) - 1);
    CHECK(carried <= static_cast<double>(record.bytes_sent) * (1 + 1e-9) + 1);
  }
}

/// Samples and versions: rows of order.csv against the totals.
inline void check_order(const Result& result, bool synchronous) {
  const RunRecord& record = result.record;
  std::uint64_t samples = 0, version = 0, empty = 0;
  Time last;
  std::set<std::pair<std::uint64_t, std::uint32_t>> seen;
  std::map<Rank, std::uint64_t> updates, of_worker;
  std::map<std::uint64_t, std::uint64_t> staleness;
  for (const OrderRow& row : result.sink.order) {
    CHECK(row.read_version < row.update);
    CHECK(row.update >= version);
    if (row.update > version) empty += row.update - version - 1;
    CHECK(row.time >= last);
    if (synchronous) {
      CHECK(row.read_version == row.update - 1);
      CHECK(seen.emplace(row.update, row.worker).second);
    }
    version = row.update;
    last = row.time;
    samples += row.samples;
    ++updates[row.worker];
    of_worker[row.worker] += row.samples;
    ++staleness[row.update - 1 - row.read_version];
  }
  // Every version has a contribution, but for rounds in which nobody answered in time.
  CHECK(empty + record.updates - version == record.empty_updates);
  CHECK(samples == record.samples);
  CHECK(record.samples + record.dropped.samples <= record.samples_drawn);
  CHECK(StalenessHistogram(staleness.begin(), staleness.end()) == record.staleness);
  for (Rank worker = 0; index_of(worker) < record.workers.size(); ++worker) {
    CHECK(updates[worker] == record.workers[index_of(worker)].updates);
    CHECK(of_worker[worker] == record.workers[index_of(worker)].samples);
  }
}

/// Gradients of a worker that were taken at weights without its own gradient before. A worker waits for its answer, so none is, but the
/// first of a new life: it starts from the latest version, which need not hold the last gradient of the former life.
inline std::size_t taken_without_own_last(const Result& result, Rank worker) {
  std::uint64_t last = 0;
  std::size_t count = 0;
  for (const OrderRow& row : result.sink.order) {
    if (row.worker != worker) continue;
    count += row.read_version < last;
    last = row.update;
  }
  return count;
}

/// No life of a worker found the answer to a former one (decision 7): it would be an answer ahead from then on.
inline void check_answers(const Result& result, const std::string& faults) {
  for (Rank worker = 0; index_of(worker) < result.record.workers.size(); ++worker) {
    const std::string crash = "crash, worker: " + std::to_string(worker) + ",";
    std::size_t crashes = 0;
    for (std::size_t at = faults.find(crash); at != std::string::npos; at = faults.find(crash, at + 1)) ++crashes;
    CHECK(taken_without_own_last(result, worker) <= crashes);
  }
}

inline void check_books(const Result& result, bool synchronous, bool plain_star = true, bool bounded = true) {
  check_time(result);
  check_bytes(result, plain_star, bounded);
  check_order(result, synchronous);
}

inline void check_same(const Result& one, const Result& other) {
  CHECK(one.record.end == other.record.end);
  CHECK(one.record.outcome == other.record.outcome);
  CHECK(one.record.events == other.record.events);
  CHECK(one.sink.order == other.sink.order);
  CHECK(one.sink.choices == other.sink.choices);
  CHECK(one.record.bytes_lost == other.record.bytes_lost);
  CHECK(one.record.weights_key == other.record.weights_key);
}

}  // namespace straggler::test
