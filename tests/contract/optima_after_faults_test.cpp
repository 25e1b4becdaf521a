// Known optima after faults: whatever has failed, left, joined, slowed down or been dropped, a run on the quadratic model comes to rest
// where the pulls of those cancel that are counted again and again. All samples of a worker lie at one point
// (tests/support/point_data.hpp).
//
// The law. A step of lr towards worker i's optimum x_i moves the weights by lr A (x_i - w). Where it is over, the moves of a span of
// updates sum to nothing; so w = Σ ω_i x_i / Σ ω_i, where a contribution of n samples, τ updates old, to an update of m contributions adds
// n s(τ) / m to its worker's ω (s: SchemeEntry::damping). All of that is in order.csv. Zeros that a late worker brings, 0 samples, are no
// contribution: if worker 0 is alone in every other update of a partial all-reduce, and the other three in the rest, it counts 1/2 and
// they 1/6 each, though all compute equally much. Where clients keep vectors that make up for what
// they do not compute (SchemeEntry::clients_keep_vectors), all that are enrolled count alike; who crashes for good stays there with its
// last vector, so that it counts as long as the others have been at rest before. Where an update counts all workers alike
// (SchemeEntry::workers_alike), those count that are in. Where chance or timing decides who is drawn, the weights
// move within the optima of those counted.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "sim/base/random.hpp"
#include "sim/training/scheme.hpp"
#include "tests/support/point_data.hpp"
#include "tests/support/run.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/schemes.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr Rank workers = 4;
const std::vector<Client> alike(workers, {8, {1, -0.5, 0.7}});
const std::vector<Client> unlike = {{8, {1, -0.5, 0.7}}, {8, {-0.4, 0.5, 0}}, {8, {0.2, 0.3, -0.6}}, {8, {0.3, -1, -0.1}}};

/// Faults of one run.
struct Faults {
  std::vector<std::string> all;
  std::set<Rank> left, crashed;  // for good
  bool slow_network = false;     // a message takes 3 ms: more of them are in flight when something fails
  std::string presence;          // file that says when clients are present; empty: always

  void add(const std::string& kind, Rank worker, const std::string& rest) {
    all.push_back("{kind: " + kind + ", worker: " + std::to_string(worker) + ", " + rest + "}");
  }
  void crash(Rank worker, std::uint64_t at, std::uint64_t down) {
    add("crash", worker, "at: " + std::to_string(at) + "ms, restart_after: " + std::to_string(down) + "ms");
  }
  void crash_for_good(Rank worker, std::uint64_t at) {
    add("crash", worker, "at: " + std::to_string(at) + "ms");
    crashed.insert(worker);
  }
  void leave(Rank worker, std::uint64_t at) {
    add("leave", worker, "at: " + std::to_string(at) + "ms");
    left.insert(worker);
  }
  void join(Rank worker, std::uint64_t at) { add("join", worker, "at: " + std::to_string(at) + "ms"); }
  void slow(Rank worker, std::uint64_t from, std::uint64_t span, std::uint64_t times) {
    add("slow", worker,
        "from: " + std::to_string(from) + "ms, to: " + std::to_string(from + span) + "ms, times_slower: " + std::to_string(times));
  }
  void link(Rank worker, std::uint64_t from, std::uint64_t span, const std::string& factor) {
    add("link", worker, "from: " + std::to_string(from) + "ms, to: " + std::to_string(from + span) + "ms, bandwidth_factor: " + factor);
  }
  bool in(Rank worker) const { return !left.contains(worker) && !crashed.contains(worker); }
  std::vector<std::string> sets() const {
    std::string list;
    for (const std::string& fault : all) list += (list.empty() ? "" : ", ") + fault;
    std::vector<std::string> sets = {"cluster.faults=[" + list + "]"};
    if (!presence.empty())
      sets.push_back("cluster.workers=[{count: " + std::to_string(workers) +
                     ", device: node, availability: {kind: trace, path: " + presence + "}}]");
    if (slow_network) sets.push_back("cluster.network.link={bandwidth: 6kB/s, latency: 1ms}");
    return sets;
  }
  std::string text() const {
    std::string text;
    for (const std::string& set : sets()) text += set + " ";
    return text;
  }
};

/// What may happen to the workers of a scheme, by its entry and its reaction to a crash.
struct Allowed {
  Allowed(const SchemeEntry& entry, Rank count, const std::string& choice)
      : crashes(choice != "abort"),
        others(crashes && count > 1),
        // The others would wait forever; and a loss for good is a loss of what a client keeps.
        losses(others && !entry.clients_keep_vectors && choice == "drop") {}
  bool crashes, others, losses;  // and restarts; members change; and some are lost for good
};

/// One fault of each kind by itself, and two that were found with bugs.
std::vector<Faults> single_faults(const Allowed& allowed) {
  std::vector<Faults> all;
  const auto next = [&]() -> Faults& { return all.emplace_back(); };
  next().slow(0, 100, 200, 10);
  next().link(0, 100, 50, "0");
  if (allowed.crashes) {
    next().crash(0, 203, 30);
    next().crash(0, 204, 1);
  }
  if (allowed.others) {
    next().leave(1, 301);
    next().join(2, 99);
    // Workers some steps apart, and two messages that a link holds back.
    Faults& held_back = next();
    held_back.crash(1, 203, 30);
    held_back.slow(2, 100, 200, 4);
    held_back.crash(0, 415, 1);
    held_back.link(3, 450, 20, "0");
    held_back.crash(1, 477, 100);
  }
  if (allowed.losses) next().crash_for_good(1, 303);
  return all;
}

Faults drawn_faults(RandomStream& draws, const Allowed& allowed, Rank count) {
  Faults faults;
  const auto some = [&](std::uint64_t from, std::uint64_t to) { return from + draws.below(to - from); };
  faults.slow_network = draws.below(2) == 0;
  for (Rank worker = 0; worker < count; ++worker) {
    std::uint64_t at = some(10, 60);
    if (allowed.others && worker > 1 && draws.below(4) == 0) {  // worker 0 and 1 are in from the beginning
      faults.join(worker, at += some(0, 150));
      at += some(1, 80);
    }
    for (std::uint64_t crashes = allowed.crashes ? std::array{0, 0, 1, 1, 2, 3}[draws.below(6)] : 0; crashes > 0; --crashes) {
      const std::uint64_t down = std::array{1, 1, 3, 9, 30, 100}[draws.below(6)];
      faults.crash(worker, at += some(1, 80), down);
      at += down + some(1, 20);
    }
    if (allowed.others && worker > 1 && draws.below(3) == 0) {
      at += some(1, 100);
      if (allowed.losses && draws.below(2) == 0)
        faults.crash_for_good(worker, at);
      else
        faults.leave(worker, at);
    }
  }
  for (std::uint64_t spells = draws.below(3); spells > 0; --spells)
    faults.slow(static_cast<Rank>(draws.below(static_cast<std::uint64_t>(count))), some(10, 300), some(20, 200), some(2, 11));
  for (std::uint64_t failures = draws.below(3); failures > 0; --failures)
    faults.link(static_cast<Rank>(draws.below(static_cast<std::uint64_t>(count))), some(10, 400), some(5, 60),
                draws.below(3) ? "0" : "0.2");
  return faults;
}

/// Clients that come and go at first, and are present in the end.
Faults drawn_presence(RandomStream& draws, const TemporaryFolder& folder) {
  Faults faults;
  faults.slow_network = draws.below(2) == 0;
  std::ostringstream rows;
  rows << "worker,from_s,to_s\n";
  for (Rank client = 0; client < workers; ++client) {
    std::uint64_t from = draws.below(3) * draws.below(100);  // ms
    for (std::uint64_t spells = draws.below(4); spells > 0; --spells) {
      const std::uint64_t to = from + 3 + draws.below(100);
      rows << client << "," << static_cast<double>(from) / 1e3 << "," << static_cast<double>(to) / 1e3 << "\n";
      from = to + 1 + draws.below(60);
    }
    rows << client << "," << static_cast<double>(from) / 1e3 << ",10000\n";
  }
  folder.write("presence.csv", rows.str());
  faults.presence = (folder.path() / "presence.csv").string();
  return faults;
}

/// Contributions to the last fifth of a run's updates.
struct Counted {
  std::array<double, workers> share{};  // ω / Σ ω
  bool steady = true;                   // each update has counted the same ones
  bool everybody = false;               // all of a fault-free run's workers in each

  Counted(const SchemeVariant& variant, const Result& result, Rank count) {
    std::map<std::uint64_t, std::vector<OrderRow>> updates;
    for (const OrderRow& row : result.sink.order)
      if (row.update > result.record.updates - result.record.updates / 5) updates[row.update].push_back(row);
    TrainingPlan plan;
    plan.workers = count;
    std::vector<std::pair<Rank, std::uint64_t>> first;
    everybody = !updates.empty();
    double all = 0;
    for (const auto& [update, rows] : updates) {
      std::vector<std::pair<Rank, std::uint64_t>> now;
      const auto contributions = std::ranges::count_if(rows, [](const OrderRow& row) { return row.samples > 0; });
      for (const OrderRow& row : rows) {
        if (row.samples == 0) continue;
        const double added = static_cast<double>(row.samples) *
                             variant.entry->damping(variant.parameters, plan, update - 1 - row.read_version) /
                             static_cast<double>(contributions);
        share[static_cast<std::size_t>(row.worker)] += added;
        all += added;
        now.emplace_back(row.worker, row.samples);
      }
      std::ranges::sort(now);
      if (first.empty()) first = now;
      steady = steady && now == first;
      everybody = everybody && static_cast<Rank>(contributions) == count;
    }
    for (double& each : share) each /= all;
  }
  bool whole() const {
    return std::ranges::all_of(share, [](double each) { return each > 0; });
  }
};

/// A scheme's runs with some faults, and without.
class Runs {
 public:
  Runs(SchemeVariant variant, int length)
      : variant_(std::move(variant)),
        count_(static_cast<Rank>(variant_.entry->only_workers.value_or(workers))),
        points_(std::vector<Client>(unlike.begin(), unlike.begin() + count_)),
        length_(length) {}

  Rank count() const { return count_; }

  /// 160 epochs at a rate of 0.2, which leave e^-8 of what was off when the last fault was over, as each epoch takes a tenth of it at
  /// least; then 300 at 0.02 and 160 at 0.002, so that what depends on the order of arrivals is small. Workers with weights of their own
  /// know their own progress alone and would lower their rates at unlike moments: theirs is 0.05. Where a server takes shorter steps, twice
  /// as many epochs, up to 16 times: until the run without faults is at rest.
  int find_length() {
    for (; length_ <= 16; length_ *= 2) {
      const Result whole = run_with(Faults());
      const Counted counted(variant_, whole, count_);
      whole_ = counted.whole() || count_ == 1;
      by_chance_ = draws_clients() || (!variant_.asynchronous() && !counted.everybody && whole.record.dropped.contributions == 0);
      if (by_chance_ || farthest_from(whole.weights, rest_of(Faults(), counted)) < near(counted)) return length_;
    }
    FAIL("the run without faults is not at rest");
    return 1;
  }

  void check(const Faults& faults) {
    const std::string what = faults.text();
    CAPTURE(what);
    const Result result = run_with(faults);
    CHECK(result.record.outcome == Outcome::completed);
    if (sanitized) return;  // not at rest yet
    const Counted counted(variant_, result, count_);
    const bool counts_all = whole_ && result.record.dropped.contributions == 0 && !faults.slow_network;
    for (Rank worker = 0; counts_all && worker < count_; ++worker)
      CHECK((counted.share[static_cast<std::size_t>(worker)] > 0) == faults.in(worker));
    if (by_chance_) return check_within(result.weights, counted);
    CHECK(farthest_from(result.weights, rest_of(faults, counted)) < near(counted));
  }

 private:
  /// Without an order of arrivals only the change of rates is left, which aggregators make at unlike moments; with one, the last pull of
  /// each worker.
  double near(const Counted& counted) const {
    return counted.steady && !variant_.asynchronous() && variant_.versions() == Versions::shared ? 0.005 : 0.03;
  }

  Result run_with(const Faults& faults) const {
    std::vector<std::string> sets = faults.sets();
    const bool own = variant_.versions() != Versions::shared;
    const int epochs = sanitized ? 40 : 620 * length_;
    sets.insert(sets.end(),
                {"workload.model.start=0", "workload.model.condition=2", "training.stop={epochs: " + std::to_string(epochs) + "}"});
    if (!own)
      sets.push_back("training.schedule={kind: step, at: [" + std::to_string(160 * length_) + ", " + std::to_string(460 * length_) +
                     "], factor: 0.1}");
    return run(equal_bowl(count_, variant_.text(), points_.data(true), own ? 0.05 : 0.2, 1, variant_.one_host()), sets);
  }

  bool draws_clients() const {
    TrainingPlan plan;
    plan.workers = count_;
    return variant_.entry->invited(variant_.parameters, plan).value_or(count_) < count_;
  }

  std::vector<double> rest_of(const Faults& faults, const Counted& counted) const {
    std::array<double, workers> share = counted.share;
    if (variant_.entry->clients_keep_vectors) {
      const double enrolled = static_cast<double>(count_) - static_cast<double>(faults.left.size());
      for (Rank worker = 0; worker < count_; ++worker)
        share[static_cast<std::size_t>(worker)] = faults.left.contains(worker) ? 0 : 1 / enrolled;
    }
    if (variant_.entry->workers_alike) {
      double in = 0;
      for (Rank worker = 0; worker < count_; ++worker) in += faults.in(worker) ? 1 : 0;
      for (Rank worker = 0; worker < count_; ++worker) share[static_cast<std::size_t>(worker)] = faults.in(worker) ? 1 / in : 0;
    }
    std::vector<double> rest(point_dimensions);
    for (std::size_t k = 0; k < static_cast<std::size_t>(count_); ++k)
      for (std::size_t j = 0; j < point_dimensions; ++j) rest[j] += share[k] * unlike[k].point[j];
    return rest;
  }

  void check_within(const std::vector<float>& weights, const Counted& counted) const {
    for (std::size_t j = 0; j < point_dimensions; ++j) {
      double least = 1, most = -1;
      for (std::size_t k = 0; k < static_cast<std::size_t>(count_); ++k) {
        if (counted.share[k] == 0) continue;
        least = std::min(least, unlike[k].point[j]);
        most = std::max(most, unlike[k].point[j]);
      }
      CHECK(static_cast<double>(weights[j]) >= least - 1e-3);
      CHECK(static_cast<double>(weights[j]) <= most + 1e-3);
    }
  }

  SchemeVariant variant_;
  Rank count_;
  PointData points_;
  int length_;
  bool whole_ = false, by_chance_ = false;
};

}  // namespace

TEST_CASE("every scheme comes to rest where the pulls of those cancel that are counted, whatever has failed") {
  const TemporaryFolder folder;
  std::size_t tried = 0;
  for (const SchemeVariant& variant : all_scheme_variants()) {
    const std::string scheme = variant.text();
    CAPTURE(scheme);
    const SchemeEntry& entry = *variant.entry;
    if (!fits(entry, variant.parameters, static_cast<Rank>(entry.only_workers.value_or(workers)))) continue;
    // Each reaction to a crash that lets a run continue. All kinds of faults meet the defaults, and a mixture every fourth of the other
    // variants.
    std::vector<std::string> choices = failure_choices(entry);
    if (choices.front() != "abort") std::erase(choices, "abort");
    const bool defaults = variant.given == variant_of(entry, {}).given && !sanitized;
    if (!defaults) choices = {choices[tried % choices.size()]};
    if (++tried % 4 != 0 && !defaults) continue;
    int length = 1;
    for (const std::string& choice : choices) {
      CAPTURE(choice);
      ParameterTexts given = variant.given;
      given["on_failure"] = choice;
      Runs runs(variant_of(entry, given), length);
      if (!sanitized) length = runs.find_length();
      const Allowed allowed(entry, runs.count(), choice);
      std::vector<Faults> all;
      if (defaults && choice == choices.front()) all = single_faults(allowed);
      RandomStream draws(5, scheme + choice);
      all.push_back(drawn_faults(draws, allowed, runs.count()));
      if (entry.invites) all.push_back(drawn_presence(draws, folder));
      for (const Faults& faults : all) runs.check(faults);
    }
  }
  CHECK(tried > 100);
}

TEST_CASE("compressed messages of alike workers end where whole ones do, though some were lost" * long_case) {
  // A tenth of what a run has to go is left after 92 updates at the most, of what the last fault has changed, too.
  const int updates = 1200;
  const PointData points(alike);
  std::size_t at_rest = 0, tried = 0;
  for (SchemeVariant variant : all_scheme_variants()) {
    if (variant.entry->only_workers || failure_choices(*variant.entry).front() == "abort" || variant.one_host()) continue;
    if (!fits(*variant.entry, variant.parameters, workers) || !variant.entry->compressible(variant.parameters)) continue;
    if (!check_long && ++tried % 6 != 1) continue;
    ParameterTexts given = variant.given;
    given.insert(variant.entry->with_compression.begin(), variant.entry->with_compression.end());
    variant = variant_of(*variant.entry, given);
    const std::string scheme = variant.text();
    CAPTURE(scheme);
    const auto ended = [&](int count, const std::vector<std::string>& faults) {
      std::vector<std::string> sets = faults;
      sets.insert(sets.end(),
                  {"workload.model.start=0", "workload.model.condition=2", "training.compression={kind: top_k, fraction: 0.34}"});
      return run(equal_bowl(workers, scheme, points.data(true), 0.1, count, variant.one_host()), sets);
    };
    RandomStream draws(6, scheme);
    const Allowed allowed(*variant.entry, workers, failure_choices(*variant.entry).front());
    const Result struck = ended(updates, drawn_faults(draws, allowed, workers).sets());
    if (farthest_from(ended(updates / 2, {}).weights, alike.front().point) > 1e-4) continue;
    ++at_rest;
    CHECK(farthest_from(struck.weights, alike.front().point) < 1e-3);
  }
  CHECK(at_rest > (check_long ? 10 : 2));
}
