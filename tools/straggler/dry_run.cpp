#include "tools/straggler/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "scenarios/experiment/experiment.hpp"
#include "sim/base/readable.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {
namespace {

std::string many(std::size_t count, const char* what) { return fmt::format("{} {}{}", readable_count(count), what, count == 1 ? "" : "s"); }

/// The cost of one run, as far as its scenario gives it.
struct Cost {
  double samples = 0, flops = 0;  // upper bound: a target may end training earlier
  bool open = false;              // the scenario bounds only simulated time
  std::size_t memory = 0;         // bytes
};

/// Three times the forward pass's FLOPs per sample (docs/model.md).
Cost cost_of(const Scenario& scenario, bool timing_only, const std::string& kernels) {
  RunOptions options;
  options.timing_only = timing_only;
  options.kernels = kernels;
  const Explanation explained = Experiment(scenario, options).explain();
  Cost cost;
  if (timing_only) return cost;
  const StopSpec& stop = scenario.training.stop;
  const double update =
      static_cast<double>(explained.stated_batches ? explained.batch_of_all : explained.batch_per_worker * scenario.workers());
  std::vector<double> bounds;
  if (stop.epochs) bounds.push_back(*stop.epochs * static_cast<double>(explained.train_samples));
  if (stop.updates) bounds.push_back(static_cast<double>(*stop.updates) * update);
  cost.open = bounds.empty();
  if (!cost.open) cost.samples = *std::min_element(bounds.begin(), bounds.end());
  double forward = 0;
  for (const LayerCost& layer : explained.layers) forward += layer.forward_flops;
  cost.flops = 3 * forward * cost.samples;
  cost.memory = explained.memory_bytes;
  return cost;
}

class Totals {
 public:
  void add(const Cost& cost, const std::optional<FinishedPoint>& finished) {
    ++points_;
    if (finished) {
      ++finished_;
      seconds_ += finished->wall_seconds;
      return;
    }
    samples_ += cost.samples;
    flops_ += cost.flops;
    open_ = open_ || cost.open;
    memory_ = std::max(memory_, cost.memory);
  }
  std::size_t points() const { return points_; }

  void print(bool timing_only, unsigned jobs, const std::string& folder) const {
    const std::size_t left = points_ - finished_;
    if (finished_ > 0) print_text("{} finished in {}, {} to run\n", readable_count(finished_), folder, readable_count(left));
    if (left == 0) return;
    if (timing_only)
      print_text("cost: timing alone, no math\n");
    else
      print_text(
          "cost: {}{} samples to train on, {:.3g} FLOP, up to {} of memory a point; points with the same order of updates share them, and "
          "a target may end them earlier\n",
          open_ ? "at least " : "at most ", readable_number(samples_), flops_, readable_bytes(static_cast<double>(memory_)));
    if (finished_ > 0)
      print_text("time: about {}, since finished points took {} each, {} at a time\n",
                 readable_seconds(seconds_ / static_cast<double>(finished_) * static_cast<double>(left) /
                                  std::min<double>(jobs, static_cast<double>(left))),
                 readable_seconds(seconds_ / static_cast<double>(finished_)), jobs);
    else
      print_text("time: unknown until a point is finished\n");
  }

 private:
  std::size_t points_ = 0, finished_ = 0, memory_ = 0;
  double samples_ = 0, flops_ = 0, seconds_ = 0;
  bool open_ = false;
};

void print_search(const SearchFile& search) {
  std::size_t settings = 1;
  for (const Axis& axis : search.sweep.axes) settings *= axis.values.size();
  for (const std::string& line : describe_search(search).lines()) print_text("{}\n", line);
  const char* const each = settings > 1 ? " for each setting of the axes" : "";
  if (search.find)
    print_text("at most {}: {} of {}{}\n", many(settings * search.find->budget * static_cast<std::size_t>(search.find->repeats), "point"),
               many(search.find->budget, "setting"), many(static_cast<std::size_t>(search.find->repeats), "repeat"), each);
  else
    print_text("at least {}: 2 on each of {} of {}{}, and more around each crossing\n",
               many(2 * settings * search.crossover->grid * static_cast<std::size_t>(search.crossover->repeats), "point"),
               many(search.crossover->grid, "value"), many(static_cast<std::size_t>(search.crossover->repeats), "repeat"), each);
  print_text("the later points depend on the results of the first ones\n");
}

}  // namespace

void print_dry_run(const SearchFile& search, const SweepOptions& options, const PoolOptions& pool,
                   const std::filesystem::path& state_file) {
  const auto nothing = [] { print_text("dry run: nothing was computed or written\n"); };
  if (search.searches()) {
    print_search(search);
    return nothing();
  }
  std::optional<SweepState> state;
  if (std::error_code error; std::filesystem::exists(state_file, error)) state.emplace(state_file);
  Totals totals;
  std::size_t longest = 0;
  bool timing_only = false;
  std::vector<std::array<std::string, 3>> lines;
  each_point(search.sweep, options, [&](const PointRequest& request) {
    const Scenario scenario = request.read();
    std::optional<FinishedPoint> finished;
    if (state) finished = state->find(point_id(scenario, request.timing_only, pool.worker.kernels));
    timing_only = request.timing_only;
    totals.add(finished ? Cost() : cost_of(scenario, request.timing_only, pool.worker.kernels), finished);
    lines.push_back({request.name, fmt::format("seed {}", scenario.seed), finished ? "finished" : "to run"});
    longest = std::max(longest, request.name.size());
  });
  for (const auto& [name, seed, what] : lines) print_text("{:<{}}  {:<10}  {}\n", name, longest, seed, what);
  const std::size_t settings = groups_of(search.sweep).size();
  print_text("\n{}: {}{}{}\n", many(totals.points(), "point"), many(settings, "setting"),
             search.sweep.until ? fmt::format(", {} to {} repeats each", search.sweep.repeats, search.sweep.until->most)
                                : ", " + many(static_cast<std::size_t>(search.sweep.repeats), "repeat") + " each",
             options.shard ? fmt::format(", of which this is shard {} of {}", options.shard->first, options.shard->second) : "");
  totals.print(timing_only, pool.jobs, state_file.parent_path().string());
  nothing();
}

}  // namespace straggler::cli
