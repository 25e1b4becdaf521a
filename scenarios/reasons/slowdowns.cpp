#include "scenarios/reasons/slowdowns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/without_learning.hpp"
#include "scenarios/reasons/watch.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "sim/base/csv.hpp"

namespace straggler {

namespace {

constexpr std::size_t most_workers = 64;  // that are looked at
constexpr std::uint64_t most_updates = 1'000, most_columns = 60;
constexpr double most_work = 2e6;      // updates times workers, of all runs together
constexpr double slowest_part = 0.03;  // of the workers (Lin et al. 2025, section 5.1)

/// The time of each update, and the time spent on batches.
class Times final : public RecordSink {
 public:
  explicit Times(std::size_t workers) : computing_(workers), batches_(workers) {}
  std::uint64_t updates() const { return updates_.size(); }
  /// Of update n, counted from 1; 0: the start. An update without contributions has the time of the one before.
  double seconds(std::uint64_t update) const {
    while (update > 0 && updates_[update - 1] == Time()) --update;
    return update == 0 ? 0 : updates_[update - 1].seconds();
  }
  /// Computing for `batch` samples, on average over all that were contributed.
  double batch_seconds(std::int64_t batch) const {
    const double computing = std::accumulate(computing_.begin(), computing_.end(), 0.0);
    return samples_ > 0 ? computing / static_cast<double>(samples_) * static_cast<double>(batch) : 0;
  }
  /// Workers by how long a piece of work takes them, the slowest first.
  std::vector<Rank> slowest_first() const {
    std::vector<Rank> order(computing_.size());
    std::iota(order.begin(), order.end(), Rank{0});
    std::ranges::stable_sort(order, std::ranges::greater(), [&](Rank rank) {
      const auto at = static_cast<std::size_t>(rank);
      return batches_[at] > 0 ? computing_[at] / static_cast<double>(batches_[at]) : 0;
    });
    return order;
  }

 private:
  void contribution(std::uint64_t update, Time time, Rank, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t samples) override {
    if (update > updates_.size()) updates_.resize(update);
    updates_[update - 1] = time;
    samples_ += samples;
  }
  void choice(Rank, std::int32_t) override {}
  void span(Rank worker, Phase phase, Time start, Time end) override {
    if (phase != Phase::compute) return;
    computing_[static_cast<std::size_t>(worker)] += (end - start).seconds();
    ++batches_[static_cast<std::size_t>(worker)];
  }
  void wasted(Rank worker, Time spent) override { computing_[static_cast<std::size_t>(worker)] -= spent.seconds(); }

  std::vector<Time> updates_;
  std::vector<double> computing_;  // [workers]
  std::vector<std::uint64_t> batches_;
  std::uint64_t samples_ = 0;
};

Times times_of(const Scenario& scenario, const std::string& kernels, bool trace, const std::function<bool()>& interrupted) {
  RunOptions options;
  options.timing_only = true;
  options.kernels = kernels;
  options.trace = trace;
  Times times(static_cast<std::size_t>(scenario.workers()));
  Watch watch(interrupted);
  if (Experiment(scenario, options).run(&times, &watch).outcome == Outcome::interrupted) throw ExplainInterrupted();
  return times;
}

bool all_links_alike(const ClusterSpec& cluster) {
  const LinkSpec& first = link_of(cluster, cluster.workers.front(), 0);
  return std::ranges::all_of(cluster.workers, [&](const WorkerGroup& group) {
    const std::int64_t rows = std::max<std::int64_t>(1, std::min<std::int64_t>(group.count, static_cast<std::int64_t>(group.rows.size())));
    for (std::int64_t i = 0; i < rows; ++i)
      if (!(link_of(cluster, group, i) == first)) return false;
    return true;
  });
}

/// Nothing of this kind differs from worker to worker, or from time to time.
bool is_even(WorkKind kind, const Scenario& scenario, const Blueprint& blueprint) {
  const auto& groups = scenario.cluster.workers;
  const auto device = [&](const WorkerGroup& group) -> const DeviceSpec& { return scenario.devices.at(group.device); };
  const DeviceSpec& first = device(groups.front());
  const auto alike = [&](auto member) {
    return std::ranges::all_of(groups, [&](const WorkerGroup& group) { return device(group).*member == first.*member; });
  };
  switch (kind) {
    case WorkKind::computing: {
      const std::vector<double> seconds = batch_seconds(scenario, blueprint);
      const bool jitter = std::ranges::any_of(groups, [&](const WorkerGroup& group) { return device(group).jitter.name != "none"; });
      return !jitter && !std::ranges::any_of(scenario.cluster.faults, slows_workers) && alike(&DeviceSpec::update) &&
             alike(&DeviceSpec::compress) && std::ranges::all_of(seconds, [&](double each) { return each == seconds.front(); });
    }
    case WorkKind::loading:
      return alike(&DeviceSpec::loader) && alike(&DeviceSpec::host_to_device);
    case WorkKind::communicating:
      return all_links_alike(scenario.cluster) && !std::ranges::any_of(scenario.cluster.faults, changes_links);
  }
  return false;
}

class Comparison {
 public:
  Comparison(const Scenario& scenario, const Blueprint& blueprint, const std::function<bool()>& interrupted)
      : scenario_(without_learning(scenario)), blueprint_(blueprint), kernels_(blueprint.kernels->name), interrupted_(interrupted) {}

  Slowdowns of(const EachOf& each) {
    const auto workers = static_cast<std::size_t>(scenario_.workers());
    const std::size_t looked_at = std::min(workers, most_workers);
    const double runs = static_cast<double>(looked_at) + 6;
    const auto updates = static_cast<std::int64_t>(std::min<double>(most_updates, most_work / (runs * static_cast<double>(workers))));
    if (updates < 2) return without("there are too many workers to look at each");
    StopSpec& stop = scenario_.training.stop;
    stop.updates = std::min(stop.updates.value_or(updates), updates);
    const Times own = times_of(scenario_, kernels_, true, interrupted_);
    out_.updates = own.updates();
    if (out_.updates == 0) return without("the run makes no update");
    stop = StopSpec();
    stop.updates = static_cast<std::int64_t>(out_.updates);
    if (!(own.batch_seconds(blueprint_.plan.batches.typical()) > 0)) return without("no worker computes");
    const Times ideal = even_run(own.batch_seconds(blueprint_.plan.batches.typical()));
    out_.seconds = own.seconds(out_.updates);
    out_.ideal_seconds = ideal.seconds(out_.updates);
    out_.column_steps = (out_.updates + most_columns - 1) / most_columns;
    out_.by_step = by_step(own, ideal);
    std::vector<Rank> order = own.slowest_first();
    order.resize(looked_at);
    std::ranges::sort(order);
    out_.some = looked_at < workers;
    const WorkerNames names(scenario_);
    for (const Rank rank : order) out_.workers.push_back({rank, names.worker(rank), 1, {}});
    const bool links_are_given = scenario_.cluster.network.topology.name != "file";  // else cables are not those of workers
    for (const WorkKind kind : all_work_kinds)
      if (kind != WorkKind::communicating || links_are_given) out_.kinds.push_back({kind, 1, is_even(kind, scenario_, blueprint_)});
    each(out_.kinds.size() + out_.workers.size(), [&](std::size_t i) {
      if (i < out_.kinds.size()) {
        Slowdowns::Kind& kind = out_.kinds[i];
        if (!kind.even) kind.slowdown = evened_times({{kind.kind}, {}}).seconds(out_.updates) / out_.ideal_seconds;
        return;
      }
      Slowdowns::Worker& worker = out_.workers[i - out_.kinds.size()];
      const Times times = evened_times({{}, {worker.rank}});
      worker.slowdown = times.seconds(out_.updates) / out_.ideal_seconds;
      worker.by_step = by_step(times, ideal);
    });
    without_the_slowest();
    return std::move(out_);
  }

 private:
  Slowdowns without(const char* why) {
    out_ = {};
    out_.note = why;
    return std::move(out_);
  }

  /// Sets the batch with which even workers compute as long for each sample as those of the run, which computed `wanted` for a batch:
  /// updates and encoding belong to that, and neighbours on a host may lengthen it. By the secant method, exact after three runs where
  /// the one grows linearly with the other.
  Times even_run(double wanted) {
    constexpr int most_runs = 6;
    constexpr double close = 1e-9;
    out_.batch_seconds = wanted;
    Times best = evened_times({}, true);
    double batch = wanted, computed = best.batch_seconds(blueprint_.plan.batches.typical()), off = std::abs(computed - wanted),
           slope = computed / batch;
    for (int run = 1; run < most_runs && off > close * wanted; ++run) {
      const double next = batch + (wanted - computed) / slope;
      if (!(next > 0) || !std::isfinite(next)) break;
      const double before = std::exchange(out_.batch_seconds, next);
      Times times = evened_times({}, true);
      const double now = times.batch_seconds(blueprint_.plan.batches.typical());
      slope = (now - computed) / (next - batch);
      batch = next;
      computed = now;
      if (std::abs(now - wanted) < off) {
        off = std::abs(now - wanted);
        best = std::move(times);
      } else {
        out_.batch_seconds = before;
        break;
      }
    }
    return best;
  }

  Times evened_times(const Uneven& kept, bool trace = false) const {
    Times times = times_of(evened(scenario_, blueprint_, out_.batch_seconds, kept), kernels_, trace, interrupted_);
    if (times.updates() < out_.updates) throw RunFailed("a run with even workers ends before its last update");
    return times;
  }

  std::vector<double> by_step(const Times& times, const Times& ideal) const {
    std::vector<double> columns;
    if (blueprint_.scheme_entry->asynchronous(scenario_.training.scheme.parameters)) return columns;
    for (std::uint64_t from = 0; from < out_.updates; from += out_.column_steps) {
      const std::uint64_t to = std::min(out_.updates, from + out_.column_steps);
      const double even = ideal.seconds(to) - ideal.seconds(from);
      columns.push_back(even > 0 ? (times.seconds(to) - times.seconds(from)) / even : 1);
    }
    return columns;
  }

  void without_the_slowest() {
    const auto workers = static_cast<std::size_t>(scenario_.workers());
    out_.slowest = std::max<std::size_t>(1, static_cast<std::size_t>(slowest_part * static_cast<double>(workers)));
    if (out_.some || !(out_.all() >= worth_telling)) return;
    std::vector<Rank> others;
    const std::vector<const Slowdowns::Worker*> ranked = out_.ranked();
    for (std::size_t i = out_.slowest; i < ranked.size(); ++i) others.push_back(ranked[i]->rank);
    std::ranges::sort(others);
    const double seconds = evened_times({{}, others}).seconds(out_.updates);
    out_.slowest_share = (out_.seconds - seconds) / (out_.seconds - out_.ideal_seconds);
  }

  Scenario scenario_;
  const Blueprint& blueprint_;
  std::string kernels_;
  const std::function<bool()>& interrupted_;
  Slowdowns out_;
};

double time_lost(double slowdown) { return 1 - 1 / slowdown; }

}  // namespace

const char* name_of(WorkKind kind) {
  static constexpr std::array names = {"computing", "loading", "communicating"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<const Slowdowns::Worker*> Slowdowns::ranked() const {
  std::vector<const Worker*> rows;
  for (const Worker& worker : workers) rows.push_back(&worker);
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const Worker* worker) { return worker->slowdown; });
  return rows;
}

Slowdowns slowdowns(const Scenario& scenario, const Blueprint& blueprint, const EachOf& each, const std::function<bool()>& interrupted) {
  return Comparison(scenario, blueprint, interrupted).of(each);
}

std::string slowdowns_csv(const Slowdowns& slowdowns) {
  std::string out = "what,name,slowdown,time_lost\n";
  if (!slowdowns.note.empty()) return out;
  const auto add = [&](const char* what, const std::string& name, double slowdown) {
    out += fmt::format("{},{},{},{}\n", what, name, number_text(slowdown), number_text(time_lost(slowdown)));
  };
  add("all", "", slowdowns.all());
  for (const Slowdowns::Kind& kind : slowdowns.kinds) add("kind", name_of(kind.kind), kind.slowdown);
  for (const Slowdowns::Worker& worker : slowdowns.workers) add("worker", std::to_string(worker.rank), worker.slowdown);
  return out;
}

std::string step_slowdowns_csv(const Slowdowns& slowdowns) {
  std::string out;
  const auto add = [&](const std::string& worker, const std::vector<double>& columns) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      out += fmt::format("{},{},{},{}\n", worker, i * slowdowns.column_steps + 1,
                         std::min<std::uint64_t>(slowdowns.updates, (i + 1) * slowdowns.column_steps), number_text(columns[i]));
  };
  add("all", slowdowns.by_step);
  for (const Slowdowns::Worker& worker : slowdowns.workers) add(std::to_string(worker.rank), worker.by_step);
  return "worker,first_update,last_update,slowdown\n" + out;
}

}  // namespace straggler
