#include "python/module/runs.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "models/kernels/kernels.hpp"
#include "python/module/models.hpp"
#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/experiment/run_checkpoint.hpp"
#include "scenarios/report/compare_page.hpp"
#include "scenarios/report/run_files.hpp"
#include "scenarios/report/run_page.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/results/recorder.hpp"
#include "scenarios/results/replaced.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/quantity.hpp"

namespace straggler::python {

namespace fs = std::filesystem;

Source source_of(const py::dict& given) {
  Source source;
  const auto text = [&](const char* name) { return given.contains(name) ? given[name].cast<std::string>() : std::string(); };
  source.path = text("path");
  source.text = text("text");
  source.name = text("name");
  source.sets = given["sets"].cast<std::vector<std::string>>();
  if (given.contains("seed") && !given["seed"].is_none()) source.seed = given["seed"].cast<std::uint64_t>();
  source.timing_only = given["timing_only"].cast<bool>();
  return source;
}

Scenario read(const Source& source) {
  Scenario scenario =
      source.path.empty() ? read_scenario_text(source.text, source.name, source.sets) : read_scenario(source.path, source.sets);
  if (source.seed) scenario.seed = *source.seed;
  return scenario;
}

namespace {

/// Data sets are kept between runs of a session.
DataCache& session_data() {
  static DataCache cache;
  return cache;
}

class PythonProgress final : public ProgressListener {
 public:
  PythonProgress(Watch& watch, const Recorder& recorder) : watch_(watch), recorder_(recorder) {}
  void progress(const State& state) override { state_ = state; }
  bool interrupted() override {
    const bool stop = watch_.look([&] {
      return py::make_tuple(state_.time.seconds(), state_.epochs, state_.updates, state_.fraction,
                            state_.test_accuracy ? py::object(py::float_(*state_.test_accuracy)) : py::object(py::none()));
    });
    return stop || recorder_.failed();
  }

 private:
  Watch& watch_;
  const Recorder& recorder_;
  State state_;
};

py::dict weights_of(const std::vector<TensorInfo>& tensors, const std::vector<float>& values) {
  py::dict all;
  for (const TensorInfo& tensor : tensors) {
    py::array_t<float> array(tensor.shape);
    std::copy_n(values.data() + tensor.offset, array.size(), array.mutable_data());
    all[py::str(tensor.name)] = array;
  }
  return all;
}

std::size_t memory_budget(const py::object& given) {
  if (given.is_none()) return 0;
  const auto text = py::str(given).cast<std::string>();
  double bytes = 0;
  try {
    bytes = parse_quantity(text, Dimension::bytes);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("memory: ") + error.what());
  }
  if (!(bytes >= 1 && bytes < 1e18)) throw std::invalid_argument("memory is '" + text + "'; write bytes, such as '8GiB'");
  return static_cast<std::size_t>(bytes);
}

RunOptions options_of(const Source& source, const py::dict& how) {
  RunOptions options;
  options.timing_only = source.timing_only;
  options.threads = how["threads"].cast<unsigned>();
  options.choose_threads = how["choose_threads"].cast<bool>();
  options.kernels = how["kernels"].cast<std::string>();
  select_kernels(options.kernels);  // throws std::invalid_argument
  if (!how["replay"].is_none()) options.replay = how["replay"].cast<std::string>();
  options.trace = how["trace"].cast<bool>();
  options.memory_budget = memory_budget(how["memory"]);
  options.data = &session_data();
  const py::object every = how["checkpoint_every"];
  const auto resume = how["resume"].cast<bool>();
  if (every.is_none() && !resume) return options;
  options.checkpoint = checkpoint_beside(how["out"].cast<std::string>(), version(), compiler());
  options.checkpoint->resume = resume;
  try {
    if (!every.is_none()) options.checkpoint->interval = checkpoint_interval(py::str(every).cast<std::string>());
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("checkpoint_every") + error.what());
  }
  return options;
}

/// Runs into a folder. Returns {warnings, notes, weights, wall_seconds}.
py::dict run(const py::dict& given, const py::dict& how, const py::object& tell) {
  const RegistryInUse in_use;
  const Source source = source_of(given);
  Errands errands;
  const GivenInUse in_hand(how, errands, false);
  RunOptions options = options_of(source, how);
  std::vector<std::string> notes;
  if (options.checkpoint)
    options.checkpoint->tell = [&](const CheckpointNote& note) {
      if (note.what != CheckpointNote::What::written) notes.push_back(checkpoint_text(note, options.checkpoint->file));
    };
  ResultFolder::Request request;
  request.out = how["out"].cast<std::string>();
  request.force = how["force"].cast<bool>();
  const auto page = how["page"].cast<bool>();
  Watch watch(tell);
  RunRecord record;
  double wall_seconds = 0;
  std::vector<TensorInfo> tensors;
  std::vector<float> weights;
  {
    const Released released;
    const Scenario scenario = read(source);
    const std::string other = options.replay ? other_program(*options.replay) : std::string();
    request.scenario_name = scenario.name;
    request.scheme = scenario.training.scheme.name;
    request.scenario_file = scenario.file;
    ResultFolder folder(request);
    if (std::string note = replaced_results(request.out, scenario, options.timing_only); !note.empty()) notes.push_back(std::move(note));
    Experiment experiment(scenario, options);
    Recorder recorder(folder, true, options.trace, scenario.recovers());
    PythonProgress progress(watch, recorder);
    const auto start = std::chrono::steady_clock::now();
    record = experiment.run(&recorder, &progress);
    wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    recorder.finish(folder, scenario.name, &record);
    if (!other.empty()) record.warnings.insert(record.warnings.begin(), other);
    write_run_files(folder, scenario, options, experiment, record, {}, wall_seconds, page);
    folder.commit();
    if (options.checkpoint) finish_checkpoint(options.checkpoint->file, record.outcome == Outcome::interrupted);
    if (!options.timing_only) {
      tensors = experiment.tensors();
      weights = experiment.final_weights();
    }
  }
  watch.raise();
  py::dict out;
  out["warnings"] = record.warnings;
  out["notes"] = notes;
  out["weights"] = options.timing_only ? py::object(py::none()) : py::object(weights_of(tensors, weights));
  out["wall_seconds"] = wall_seconds;
  return out;
}

Comparison comparison_of(const std::vector<std::string>& folders, const std::vector<std::string>& labels) {
  std::vector<RunResult> runs;
  for (const std::string& folder : folders) runs.push_back(read_run_result(folder));
  return compare(std::move(runs), labels);
}

/// {text, json, notes}.
py::dict compare_folders(const std::vector<std::string>& folders, const std::vector<std::string>& labels) {
  const RegistryInUse in_use;
  std::string text, json;
  std::vector<std::string> notes;
  {
    const Released released;
    const Comparison comparison = comparison_of(folders, labels);
    text = comparison_table(comparison) + "\n" + plain(verdict(comparison)) + "\n";
    for (const Said& note : comparison_notes(comparison)) text += "note: " + plain(note) + "\n";
    json = comparison_json(comparison, {});
  }
  py::dict out;
  out["text"] = text;
  out["json"] = json;
  return out;
}

}  // namespace

void define_runs(py::module_& module) {
  module.def("run", &run, py::arg("source"), py::arg("how"), py::arg("tell"));
  module.def(
      "refuse_newer_results", [](const std::string& folder) { refuse_newer_results(folder); }, py::arg("folder"));
  module.def("compare", &compare_folders, py::arg("folders"), py::arg("labels"));
  module.def(
      "run_page",
      [](const std::string& folder, const py::dict& how) {
        const RegistryInUse in_use;
        Errands errands;
        const GivenInUse in_hand(how, errands, false);
        const Released released;
        return run_page(folder);
      },
      py::arg("folder"), py::arg("how"));
  module.def(
      "compare_page",
      [](const std::vector<std::string>& folders, const std::vector<std::string>& labels, const std::string& beside) {
        const RegistryInUse in_use;
        const Released released;
        return compare_page(comparison_of(folders, labels), beside);
      },
      py::arg("folders"), py::arg("labels"), py::arg("beside"));
}

}  // namespace straggler::python
