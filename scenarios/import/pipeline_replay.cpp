#include "scenarios/import/pipeline_replay.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

namespace straggler::import_pipeline {
namespace {

constexpr double most_by_worker = 1e9, most_replayed = 4e9;  // operations: for each worker alone, and for each rank and stage
constexpr std::size_t sparse = 16;                           // workers of a step for each of its operations

enum class Group { none, own, ranks, ends, all };
struct Kind {
  std::string_view name;
  Group group;
  bool transfer;
};
/// In the order in which they follow the computations; the first one goes before them.
constexpr Kind gathered = {"params-all-gather", Group::ranks, true};
constexpr std::array behind = {Kind{"layernorm-grads-all-reduce", Group::own, true}, Kind{"embedding-grads-all-reduce", Group::ends, true},
                               Kind{"grads-reduce-scatter", Group::ranks, true}, Kind{"optimizer-clip-main-grad", Group::all, true},
                               Kind{"optimizer", Group::own, false}};

bool is_computing(std::string_view kind) { return kind.ends_with("-compute"); }

/// A task of one worker, or the arrival of all at a collective (of no kind). Tasks stand behind all that they wait for.
struct Task {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t worker = none, kind = none;
  double seconds = 0;
  std::uint32_t first = 0, waits = 0;  // in Step::waits
};
struct Step {
  std::vector<Task> tasks;
  std::vector<std::uint32_t> waits;
};

class Job {
 public:
  Job(const std::vector<PipelineOperation>& operations, const std::vector<std::string>& kinds) : kinds_(kinds) {
    for (const PipelineOperation& each : operations) {
      out_.ranks = std::max<std::size_t>(out_.ranks, each.rank + 1);
      out_.stages = std::max<std::size_t>(out_.stages, each.stage + 1);
      chunks_ = std::max(chunks_, each.chunk + 1);
    }
    if (out_.ranks * out_.stages > std::max<std::size_t>(operations.size(), 1))
      throw std::invalid_argument("has more workers than operations; number ranks and stages from 0");
    std::vector<const PipelineOperation*> order;
    for (const PipelineOperation& each : operations) order.push_back(&each);
    std::ranges::stable_sort(order, {}, [](const PipelineOperation* each) { return std::pair(each->step, each->begin); });
    std::set<std::int64_t> numbers;
    for (const PipelineOperation* each : order) numbers.insert(each->step);
    if (workers() * numbers.size() > sparse * operations.size())
      throw std::invalid_argument("has hardly an operation of each worker in a step; number ranks and stages from 0");
    if (static_cast<double>(operations.size()) * static_cast<double>(out_.ranks + out_.stages) > most_replayed)
      throw std::invalid_argument("has too many operations to replay them with each rank and each stage alone; give fewer steps");
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end = std::find_if(begin, order.end(), [&](const PipelineOperation* each) { return each->step != (*begin)->step; });
      add_step({begin, end});
      begin = end;
    }
    if (steps_.empty())
      throw std::invalid_argument(
          "has no step whose operations fit together: each forward-compute needs that of the stage before, each backward-compute that of "
          "the stage behind; get the whole table");
    make_even();
  }

  PipelineSlowdowns slowdowns() {
    out_.steps = steps_.size();
    out_.recorded = recorded_ / static_cast<double>(out_.steps);
    out_.replayed = mean([](const Task&) { return true; });
    out_.even = mean([](const Task&) { return false; });
    if (!(out_.even > 0)) throw std::invalid_argument("has operations that take no time; get the original table");
    out_.all = out_.replayed / out_.even;
    for (std::uint32_t k = 0; k < kinds_.size(); ++k)
      out_.by_kind.push_back(seen_[k].empty() ? 0 : mean([k](const Task& task) { return task.kind == k; }) / out_.even);
    const auto stages = static_cast<std::uint32_t>(out_.stages);
    for (std::uint32_t r = 0; r < out_.ranks; ++r)
      out_.by_rank.push_back(mean([=](const Task& task) { return task.worker / stages == r; }) / out_.even);
    for (std::uint32_t s = 0; s < out_.stages; ++s)
      out_.by_stage.push_back(mean([=](const Task& task) { return task.worker % stages == s; }) / out_.even);
    fill_workers();
    const double lost = out_.replayed - out_.even;
    std::vector<bool> slow(workers(), false);
    for (const std::size_t worker : slowest()) slow[worker] = true;
    if (std::abs(lost) > 1e-9 * out_.even) {
      out_.slowest_share = (out_.replayed - mean([&](const Task& task) { return !slow[task.worker]; })) / lost;
      out_.last_stage_share = (out_.replayed - mean([=](const Task& task) { return task.worker % stages != stages - 1; })) / lost;
    }
    return std::move(out_);
  }

 private:
  using Operations = std::vector<const PipelineOperation*>;
  std::size_t workers() const { return out_.ranks * out_.stages; }
  std::uint32_t worker_of(std::size_t rank, std::size_t stage) const { return static_cast<std::uint32_t>(rank * out_.stages + stage); }

  /// Of one kind, by sequence: the operation of each worker.
  using Members = std::map<std::int64_t, std::map<std::uint32_t, const PipelineOperation*>>;

  struct Building {
    Step step;
    std::vector<std::uint32_t> last;  // [workers] its last task; none: it has none yet
    std::map<std::string_view, Members> collectives;
  };

  static std::uint32_t add(Building& building, std::uint32_t worker, std::uint32_t kind, double seconds,
                           const std::vector<std::uint32_t>& waits) {
    Task task{worker, kind, seconds, static_cast<std::uint32_t>(building.step.waits.size()), 0};
    for (const std::uint32_t each : waits)
      if (each != Task::none) building.step.waits.push_back(each);
    task.waits = static_cast<std::uint32_t>(building.step.waits.size()) - task.first;
    building.step.tasks.push_back(task);
    return static_cast<std::uint32_t>(building.step.tasks.size() - 1);
  }

  /// All that take part leave together, then each needs its own transfer.
  void meet(Building& building, const std::vector<const PipelineOperation*>& members, bool transfer) const {
    std::vector<std::uint32_t> waits;
    double arrival = members.front()->begin;
    for (const PipelineOperation* each : members) {
      waits.push_back(building.last[worker_of(each->rank, each->stage)]);
      arrival = std::max(arrival, each->begin);
    }
    const std::uint32_t meeting = add(building, Task::none, Task::none, 0, waits);
    for (const PipelineOperation* each : members) {
      const double seconds = transfer ? std::max(0.0, each->begin + each->seconds - arrival) : each->seconds;
      const std::uint32_t worker = worker_of(each->rank, each->stage);
      building.last[worker] = add(building, worker, each->kind, seconds, {meeting});
    }
  }

  void collectives_of(Building& building, const Kind& kind) const {
    const auto found = building.collectives.find(kind.name);
    if (found == building.collectives.end()) return;
    for (const auto& [sequence, members] : found->second) {
      std::map<std::size_t, std::vector<const PipelineOperation*>> groups;
      for (const auto& [worker, each] : members) {
        std::size_t group = 0;
        if (kind.group == Group::own) group = worker;
        if (kind.group == Group::ranks) group = each->stage;
        if (kind.group == Group::ends) {
          if (each->stage != 0 && each->stage + 1 != out_.stages) continue;
          group = each->rank;
        }
        groups[group].push_back(each);
      }
      for (const auto& [group, these] : groups) meet(building, these, kind.transfer);
    }
  }

  /// Computations in their recorded order, each behind the one of the next stage that it needs. False: they do not fit.
  bool computations(Building& building, const std::vector<Operations>& order) const {
    using Key = std::tuple<std::uint32_t, bool, std::int64_t, std::int64_t>;  // worker, forward, chunk, micro-batch
    std::map<Key, std::uint32_t> done;
    std::vector<std::size_t> next(workers(), 0);
    const auto needed = [&](const PipelineOperation& each, Key& key) {
      const bool forward = kinds_[each.kind].starts_with("forward");
      const bool first = each.stage == 0, last = each.stage + 1 == out_.stages;
      if (forward ? first && each.chunk == 0 : last && each.chunk + 1 == chunks_) return false;
      if (forward)
        key = {worker_of(each.rank, first ? out_.stages - 1 : each.stage - 1), true, each.chunk - first, each.micro_batch};
      else
        key = {worker_of(each.rank, last ? 0 : each.stage + 1), false, each.chunk + last, each.micro_batch};
      return true;
    };
    std::size_t left = 0;
    for (const Operations& all : order) left += all.size();
    for (bool moved = true; moved && left > 0;) {
      moved = false;
      for (std::uint32_t worker = 0; worker < order.size(); ++worker)
        for (; next[worker] < order[worker].size(); ++next[worker], --left, moved = true) {
          const PipelineOperation& each = *order[worker][next[worker]];
          Key key;
          std::uint32_t before = Task::none;
          if (needed(each, key)) {
            const auto found = done.find(key);
            if (found == done.end()) break;
            before = found->second;
          }
          const std::uint32_t task = add(building, worker, each.kind, each.seconds, {building.last[worker], before});
          building.last[worker] = task;
          done[{worker, kinds_[each.kind].starts_with("forward"), each.chunk, each.micro_batch}] = task;
        }
    }
    return left == 0;
  }

  void add_step(const Operations& operations) {
    Building building;
    building.last.assign(workers(), Task::none);
    std::vector<Operations> order(workers());
    double begin = operations.front()->begin, end = begin;
    for (const PipelineOperation* each : operations) {
      const std::string_view kind = kinds_[each->kind];
      const std::uint32_t worker = worker_of(each->rank, each->stage);
      end = std::max(end, each->begin + each->seconds);
      if (is_computing(kind))
        order[worker].push_back(each);
      else
        building.collectives[kind][each->sequence][worker] = each;
    }
    collectives_of(building, gathered);
    if (!computations(building, order)) {
      out_.left_out.push_back(operations.front()->step);
      return;
    }
    for (const Kind& kind : behind) collectives_of(building, kind);
    recorded_ += end - begin;
    steps_.push_back(std::move(building.step));
  }

  void make_even() {
    seen_.resize(kinds_.size());
    for (const Step& step : steps_)
      for (const Task& task : step.tasks)
        if (task.kind != Task::none) seen_[task.kind].push_back(task.seconds);
    even_.assign(kinds_.size(), 0);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      std::vector<double>& all = seen_[k];
      if (all.empty()) continue;
      const bool transfer = kinds_[k] == gathered.name ||
                            std::ranges::any_of(behind, [&](const Kind& kind) { return kind.transfer && kind.name == kinds_[k]; });
      if (!transfer) {
        even_[k] = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
        continue;
      }
      std::ranges::sort(all);
      const std::size_t half = all.size() / 2;
      even_[k] = all.size() % 2 == 1 ? all[half] : (all[half - 1] + all[half]) / 2;
    }
  }

  /// Of the steps, where operations for which `keep` says so take their recorded time, and the others are even.
  template <class Keep>
  double mean(const Keep& keep) {
    double sum = 0;
    for (const Step& step : steps_) {
      ends_.assign(step.tasks.size(), 0);
      double last = 0;
      for (std::size_t i = 0; i < step.tasks.size(); ++i) {
        const Task& task = step.tasks[i];
        double begin = 0;
        for (std::uint32_t w = 0; w < task.waits; ++w) begin = std::max(begin, ends_[step.waits[task.first + w]]);
        const double seconds = task.kind == Task::none ? 0 : keep(task) ? task.seconds : even_[task.kind];
        ends_[i] = begin + seconds;
        last = std::max(last, ends_[i]);
      }
      sum += last;
    }
    return sum / static_cast<double>(steps_.size());
  }

  void fill_workers() {
    double tasks = 0;
    for (const Step& step : steps_) tasks += static_cast<double>(step.tasks.size());
    out_.workers_are_bounds = tasks * static_cast<double>(workers()) > most_by_worker;
    for (std::uint32_t worker = 0; worker < workers(); ++worker) {
      const double bound = std::min(out_.by_rank[worker / out_.stages], out_.by_stage[worker % out_.stages]);
      out_.by_worker.push_back(out_.workers_are_bounds ? bound
                                                       : mean([worker](const Task& task) { return task.worker == worker; }) / out_.even);
    }
  }

  const std::vector<std::size_t>& slowest() {
    std::vector<double> computing(workers(), 0);
    for (const Step& step : steps_)
      for (const Task& task : step.tasks)
        if (task.kind != Task::none && is_computing(kinds_[task.kind])) computing[task.worker] += task.seconds;
    std::vector<std::size_t> order(workers());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return computing[a] > computing[b]; });
    constexpr double share = 0.03;
    order.resize(std::max<std::size_t>(1, static_cast<std::size_t>(share * static_cast<double>(order.size()) + 0.5)));
    return out_.slowest = std::move(order);
  }

  const std::vector<std::string>& kinds_;
  PipelineSlowdowns out_;
  std::int64_t chunks_ = 1;
  double recorded_ = 0;
  std::vector<Step> steps_;
  std::vector<std::vector<double>> seen_;  // [kinds] seconds
  std::vector<double> even_;               // [kinds]
  std::vector<double> ends_;
};

}  // namespace
}  // namespace straggler::import_pipeline

namespace straggler {

PipelineSlowdowns pipeline_slowdowns(const std::vector<PipelineOperation>& operations, const std::vector<std::string>& kinds) {
  return import_pipeline::Job(operations, kinds).slowdowns();
}

}  // namespace straggler
