#include "scenarios/sweep/point_worker.hpp"

#include <fmt/format.h>

#include <chrono>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/run_checkpoint.hpp"
#include "scenarios/results/measures.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/results/text.hpp"
#include "sim/base/problem_text.hpp"

namespace straggler {
namespace {

/// Ends the run of a point when its sweep was ended.
class Watcher final : public ProgressListener {
 public:
  explicit Watcher(PointDesk& desk) : desk_(desk) {}
  void progress(const State&) override {}
  bool interrupted() override { return desk_.ended(); }

 private:
  PointDesk& desk_;
};

/// At the end, on the samples that the learning curve is about: `final_test_loss` is always of the test set.
void add_validation_loss(const RunRecord& record, std::vector<SummaryField>& fields) {
  const std::optional<double> loss = record.curve.empty() ? std::nullopt : record.curve.back().test_loss;
  fields.push_back({"final_validation_loss", Scalar(loss)});
  if (record.symbols) fields.push_back({"final_validation_perplexity", Scalar(perplexity(loss))});
}

void run(const PointWork& point, PointDesk& desk, const WorkerOptions& worker, DataCache& data) {
  const auto start = std::chrono::steady_clock::now();
  RunOptions options;
  options.timing_only = point.timing_only;
  options.threads = worker.threads;
  options.choose_threads = worker.choose_threads;
  options.kernels = worker.kernels;
  options.store = point.timing_only || point.scenario.training.evaluate.noise_scale ? nullptr : desk.store();
  options.data = &data;
  if (worker.checkpoints && !point.timing_only && !point.scenario.training.evaluate.noise_scale) {
    const PointCheckpoints& asked = *worker.checkpoints;
    std::filesystem::create_directories(asked.folder);
    options.checkpoint = checkpoint_beside(asked.folder / point.id, version(), compiler());
    options.checkpoint->interval = asked.interval;
    options.checkpoint->resume = true;
    options.store = nullptr;
  }
  const auto finished = [&](const RunRecord& record, AskedEvaluations asked) {
    if (record.outcome == Outcome::interrupted) return desk.give_up(point.ticket);
    if (options.checkpoint) finish_checkpoint(options.checkpoint->file, false);
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::vector<SummaryField> fields = point_fields(record);
    if (point.scenario.training.evaluate.split == EvaluateSpec::Split::validation) add_validation_loss(record, fields);
    desk.finish(point.ticket, {std::move(fields), wall, written(sketch_of(point.scenario, record))}, asked);
  };
  Watcher watcher(desk);
  Experiment experiment(point.scenario, options);
  AskedEvaluations asked;
  if (options.store) {
    const Experiment::FromStore known = experiment.run_from_store(&watcher);
    if (desk.ended()) return desk.give_up(point.ticket);
    asked = {known.missing.size() + known.found, known.found};
    if (known.record) return finished(*known.record, asked);
    if (!desk.promise(point.ticket, known.missing)) return;
  }
  finished(experiment.run(nullptr, &watcher), asked);
}

}  // namespace

std::vector<SummaryField> point_fields(const RunRecord& record) {
  std::vector<SummaryField> fields = summarize(record);
  for (const double threshold : record.thresholds) {
    const Reached when = reached(record.curve, threshold, record.sustain);
    const std::string name = number_text(threshold);
    fields.push_back({key_to(row_of(Measure::time), name), when.at ? Scalar(when.at->time) : Scalar()});
    const Costs costs = when.at ? when.at->costs : Costs();
    if (record.costs.price) fields.push_back({key_to(row_of(Measure::price), name), Scalar(costs.price)});
    if (record.costs.joules) fields.push_back({key_to(row_of(Measure::energy), name), Scalar(costs.joules)});
  }
  return fields;
}

void work_at(PointDesk& desk, const WorkerOptions& options, DataCache& data) {
  while (const std::optional<PointWork> point = desk.next()) {
    try {
      run(*point, desk, options, data);
    } catch (const ResultsError&) {
      desk.give_up(point->ticket);
      throw;
    } catch (const std::exception& error) {
      desk.fail(point->ticket, problem_text(error));
    }
  }
}

}  // namespace straggler
