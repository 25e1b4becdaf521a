#include "scenarios/report/import_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/results/results.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/problem_text.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

constexpr std::int64_t most_replayed_workers = 20'000;
constexpr std::chrono::seconds replay_budget{3};
constexpr std::size_t most_import_bytes = 256 << 20, most_replayed_buckets = 4096;

/// When workers compute, when pieces of collectives are sent, and when versions are published.
class ReplaySink final : public RecordSink {
 public:
  explicit ReplaySink(std::size_t workers) : computing_(workers <= most_followed_workers ? workers : 0) {}

  struct Stretch {
    double begin = 0, end = 0;  // seconds
  };
  std::uint64_t updates() const { return updates_.size(); }
  double last() const { return updates_.back(); }

  std::vector<ReplayedBucket> buckets() const {
    std::vector<ReplayedBucket> means;
    for (const auto& [piece, sent] : pieces_) {
      if (means.size() <= piece) means.resize(piece + 1);
      means[piece].seconds += sent.end - sent.begin;
      ++means[piece].count;
    }
    for (ReplayedBucket& bucket : means)
      if (bucket.count > 0) bucket.seconds /= static_cast<double>(bucket.count);
    return means;
  }

  /// Seconds of an update in which the worker has a piece ready, and others have not: as a kernel of a collective waits. `ready`: [pieces]
  /// shares of computing. Nothing: it was not followed.
  std::optional<double> waited(std::size_t worker, const std::vector<double>& ready) const {
    if (worker >= computing_.size() || updates_.empty()) return std::nullopt;
    const std::vector<Stretch>& own = computing_[worker];
    double all = 0, from = 0;
    std::size_t piece = 0, next = 0;
    for (const double to : updates_) {
      while (next < own.size() && own[next].begin < from) ++next;
      double before = from;
      for (; piece < pieces_.size() && pieces_[piece].second.begin <= to; ++piece) {
        const auto& [number, sent] = pieces_[piece];
        if (next < own.size() && own[next].begin < to && number < ready.size()) {
          const double there = own[next].begin + ready[number] * (own[next].end - own[next].begin);
          all += std::max(0.0, sent.begin - std::max(there, before));
        }
        before = sent.end;
      }
      from = to;
    }
    return all / static_cast<double>(updates_.size());
  }

 private:
  static constexpr std::size_t most_followed_workers = 256, most_kept = 4'000'000;

  void contribution(std::uint64_t update, Time time, Rank, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) override {
    if (update > updates_.size()) updates_.push_back(time.seconds());
  }
  void choice(Rank, std::int32_t) override {}
  void span(Rank worker, Phase phase, Time start, Time end) override {
    if (phase == Phase::compute && index_of(worker) < computing_.size() && kept_++ < most_kept)
      computing_[index_of(worker)].push_back({start.seconds(), end.seconds()});
  }
  void collective(const CollectiveTrace& collective) override {
    if (collective.piece < most_replayed_buckets && kept_++ < most_kept)
      pieces_.emplace_back(collective.piece, Stretch{collective.start.seconds(), collective.end.seconds()});
  }

  std::vector<std::vector<Stretch>> computing_;          // [workers]
  std::vector<std::pair<std::size_t, Stretch>> pieces_;  // of collectives, with their numbers in an update
  std::vector<double> updates_;                          // when they were published
  std::size_t kept_ = 0;
};

class ReplayClock final : public ProgressListener {
 public:
  void progress(const State&) override {}
  bool interrupted() override { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + replay_budget;
};

std::optional<double> number_in(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}
const Json& list_in(const Json& from, const char* key) {
  static const Json none = Json::array();
  const auto found = from.find(key);
  return found != from.end() && found->is_array() ? *found : none;
}

}  // namespace

void StepParts::fill(double step) {
  const double left = std::max(0.0, step - computing - loading);
  waiting = std::min(left, wait.value_or(0));
  rest = left - waiting;
}

ImportedFolder::ImportedFolder(const std::filesystem::path& folder) : folder_(folder) {
  const FileText file = read_file(folder / "import.json", most_import_bytes);
  facts_ = Json::parse(file.text, nullptr, false);
  if (!facts_.is_object())
    throw ResultsError(
        fmt::format("{}: is no folder of an import (import.json cannot be read); name the --out of an import", folder.string()));
}

bool ImportedFolder::is_job() const {
  std::error_code error;
  return step() > 0 && std::filesystem::exists(folder_ / "scenario.yaml", error);
}

std::optional<double> ImportedFolder::number(const char* key) const { return number_in(facts_, key); }

std::optional<double> ImportedFolder::gpu_computing() const {
  const auto found = facts_.find("gpu");
  return found != facts_.end() && found->is_object() ? number_in(*found, "computing_s") : std::nullopt;
}

std::string ImportedFolder::text(const char* key) const {
  const auto found = facts_.find(key);
  return found != facts_.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> ImportedFolder::sentences(const char* key) const {
  std::vector<std::string> all;
  for (const Json& each : list_in(facts_, key))
    if (each.is_string()) all.push_back(each.get<std::string>());
  return all;
}

std::vector<double> ImportedFolder::steps() const {
  std::vector<double> all;
  for (const Json& each : list_in(facts_, "steps"))
    if (each.is_number()) all.push_back(each.get<double>());
  return all;
}

std::vector<ImportedFolder::Rank> ImportedFolder::ranks() const {
  std::vector<Rank> all;
  const Json& found = list_in(facts_, "ranks");
  const bool every = number("workers").value_or(0) == static_cast<double>(found.size());
  for (const Json& each : found) {
    const auto of = [&each](const char* key) { return number_in(each, key).value_or(0); };
    Rank rank;
    rank.rank = std::llround(std::clamp(of("rank"), 0.0, 1e12));
    rank.worker = every ? all.size() : found.size() == 1 ? 0 : static_cast<std::size_t>(rank.rank);
    rank.forward = of("forward_s");
    rank.backward = of("backward_s");
    rank.update = of("update_s");
    rank.between = of("rest_s");
    rank.parts.loading = of("loader_s");
    rank.parts.computing = rank.forward + rank.backward + rank.update + rank.between;
    rank.parts.wait = number_in(each, "wait_s");
    rank.parts.fill(step());
    all.push_back(rank);
  }
  return all;
}

std::vector<ImportedFolder::Bucket> ImportedFolder::buckets() const {
  std::vector<Bucket> all;
  for (const Json& each : list_in(facts_, "buckets"))
    all.push_back(
        {number_in(each, "bytes"), number_in(each, "elements"), number_in(each, "ready"), number_in(each, "seconds").value_or(0)});
  const bool known = std::ranges::any_of(all, [](const Bucket& bucket) { return bucket.bytes || bucket.seconds > 0; });
  return known ? all : std::vector<Bucket>();
}

std::optional<ReplayedJob> ImportedFolder::replayed(std::string& why_not) const {
  try {
    const Scenario scenario = read_scenario(folder_ / "scenario.yaml");
    if (scenario.workers() > most_replayed_workers) {
      why_not = "it has more than 20,000 workers";
      return std::nullopt;
    }
    RunOptions options;
    options.timing_only = options.trace = true;
    ReplaySink sink(static_cast<std::size_t>(scenario.workers()));
    ReplayClock clock;
    const RunRecord record = Experiment(scenario, options).run(&sink, &clock);
    if (sink.updates() == 0) {
      why_not = "it was cut before its first update";
      return std::nullopt;
    }
    ReplayedJob job;
    job.updates = sink.updates();
    const double updates = static_cast<double>(job.updates);
    job.step = (record.outcome == Outcome::interrupted ? sink.last() : record.end.seconds()) / updates;
    job.buckets = sink.buckets();
    for (const WorkerRecord& worker : record.workers) {
      StepParts& parts = job.workers.emplace_back();
      parts.computing = (worker.split[Phase::compute] + worker.split[Phase::wasted]).seconds() / updates;
      parts.loading = worker.split[Phase::loading].seconds() / updates;
    }
    for (const Rank& rank : ranks())
      if (rank.worker < job.workers.size()) job.workers[rank.worker].wait = sink.waited(rank.worker, ready_of(rank));
    for (StepParts& parts : job.workers) parts.fill(job.step);
    return job;
  } catch (const std::exception& error) {
    why_not = problem_text(error);
    return std::nullopt;
  }
}

std::vector<double> ImportedFolder::ready_of(const Rank& rank) const {
  const double ahead = rank.forward + rank.between, all = ahead + rank.backward;
  std::vector<double> shares;
  for (const Bucket& bucket : buckets()) shares.push_back(all > 0 ? (ahead + bucket.ready.value_or(1) * rank.backward) / all : 1);
  if (shares.empty()) shares.push_back(1);  // nothing but the end of the step is shared
  return shares;
}

}  // namespace straggler
