// Format `mlperf`: logs of MLPerf Training, a run each. Runs with the same nodes and batch are one setting; the claim predicts settings
// that are held out from those that are not.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "scenarios/import/import_format.hpp"
#include "scenarios/import/mlperf_log.hpp"
#include "scenarios/import/timed_job.hpp"
#include "scenarios/results/json.hpp"
#include "scenarios/results/run_info.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/yaml_text.hpp"

namespace straggler::import_mlperf {
namespace {

/// What a benchmark trains to, and how large its model is: the rules of MLPerf Training 2.0 and later
/// (github.com/mlcommons/training_policies).
struct Benchmark {
  const char* name;
  double target, parameters;
  const char* model;
};
constexpr std::array benchmarks = {Benchmark{"resnet", 0.759, 25'557'032, "ResNet-50"}, Benchmark{"bert", 0.72, 336e6, "BERT-large"},
                                   Benchmark{"gpt3", 2.69, 175e9, "GPT-3"}, Benchmark{"unet3d", 0.908, 19e6, "3D U-Net"},
                                   Benchmark{"rnnt", 0.058, 47e6, "RNN-T"}};
constexpr double unknown_parameters = 100e6;
constexpr double assumed_link = 25e9, link_latency = 1e-6;  // bytes a second; seconds
constexpr double most_exposed = 0.5;                        // share of a step that the exchange between hosts may take
constexpr std::size_t usual_per_host = 8;

double six_digits(double value) { return std::stod(fmt::format("{:.6g}", value)); }

/// Runs with equal settings.
struct Setting {
  double nodes = 1, workers = 1, batch = 1;  // batch: of all
  bool counted = true;                       // workers are known
  std::vector<MlperfRun> runs;
  std::vector<const MlperfRun*> reached() const {
    std::vector<const MlperfRun*> all;
    for (const MlperfRun& run : runs)
      if (run.reached()) all.push_back(&run);
    return all;
  }
  double per_worker() const { return std::max(1.0, std::round(batch / workers)); }
  double per_host() const { return std::max(1.0, std::ceil(workers / nodes)); }
  /// Bytes that a card sends in a ring over all, in sizes of the gradient; inside of a host they are free.
  double sent() const { return nodes > 1 ? 2 * (workers - 1) / workers : 0; }
  std::optional<double> step() const {
    std::vector<double> all;
    for (const MlperfRun* run : reached())
      if (run->step()) all.push_back(*run->step());
    return all.empty() ? std::nullopt : std::optional(median_seconds(all));
  }
  std::string text() const {
    return fmt::format("{:.0f} node{} with a batch of {}", nodes, nodes == 1 ? "" : "s", readable_count(static_cast<std::uint64_t>(batch)));
  }
};

/// seconds = per_sample · batch of a worker + exchange · sent()
struct Fitted {
  double per_sample = 0, exchange = 0;
  bool of_exchange = false;  // the settings tell it
};

class Import {
 public:
  Import(const std::vector<GivenFile>& files, const std::vector<GivenFile>& held) {
    for (const GivenFile& file : files) names_.emplace(file.path().filename().string(), import_name(file, {"result", "result_0"}));
    name_ = import_name(files.front(), {"result", "result_0"});
    add(files, settings_);
    add(held, held_);
    for (Setting& each : held_) {
      const auto same = [&](const Setting& other) {
        return other.nodes == each.nodes && other.workers == each.workers && other.batch == each.batch;
      };
      for (const Setting& other : settings_)
        if (same(other)) each.runs.insert(each.runs.end(), other.runs.begin(), other.runs.end());
      std::erase_if(settings_, same);
    }
    std::erase_if(held_, [](const Setting& each) { return !each.step(); });
    for (const Setting& each : settings_)
      if (each.step()) timed_.push_back(&each);
    if (!held.empty() && (held_.empty() || timed_.empty()))
      throw DataError(fmt::format("{}: {}; give logs of other nodes or batches with successful runs", files.front().shown().string(),
                                  held_.empty() ? "no run that is held out reached its target and says samples a second"
                                                : "without what is held out no run is left to predict from"));
  }

  Imported imported() {
    Imported made;
    made.off_hosts = "the link is fitted to the logs, and free inside of a host";
    benchmark_of();
    made.said = {{"job", fmt::format("MLPerf {}, {} run{} (mlperf)", benchmark_.empty() ? "training" : on_one_line(benchmark_), count_,
                                     count_ == 1 ? "" : "s")}};
    std::size_t shown = 0;
    for (const std::vector<Setting>* all : {&settings_, &held_})
      for (const Setting& each : *all)
        if (++shown <= 8) made.said.emplace_back(all == &held_ ? "held out" : "setting", said_of(each));
    Json json{{"format", "mlperf"}, {"yields", "job"}, {"files", files_}, {"benchmark", text_or_null(benchmark_)}};
    json["target"] = known_ ? Json(known_->target) : Json();
    if (known_) assumed_.push_back(fmt::format("the target of {}, {}: of MLPerf's rules, no line says it", known_->model, known_->target));
    json["settings"] = json_of(settings_);
    json["held_out"] = json_of(held_);
    json["runs"] = runs_json();
    json["aborted"] = std::ranges::count_if(all_runs(), [](const MlperfRun* run) { return !run->reached(); });
    if (timed_.empty()) {
      missing_.emplace_back("a job: no run that reached its target says its batch and samples a second");
    } else {
      const Setting& job = **std::ranges::max_element(timed_, {}, [](const Setting* each) { return each->workers; });
      const auto named = names_.find(job.reached().front()->file);
      if (named != names_.end()) name_ = named->second;
      fitted_ = fit();
      json["step_s"] = *job.step();
      json["steps"] = Json::array({*job.step()});
      json["workers"] = static_cast<std::int64_t>(job.workers);
      json["fitted"] = {
          {"per_sample_s", fitted_.per_sample}, {"exchange_s", fitted_.exchange}, {"exchange_is_measured", fitted_.of_exchange}};
      predict(made, json);
      assume();
      made.files = {{"scenario.yaml", scenario(job)}, {"measured.csv", measured()}, {"claim.yaml", claim()}};
      made.next = "scenario.yaml";
    }
    missing_.emplace_back("the learning itself: nothing is trained, and epochs to the target are the log's");
    for (const std::string& sentence : assumed_) made.said.emplace_back("assumed", sentence);
    for (const std::string& sentence : missing_) made.said.emplace_back("missing", sentence);
    json["missing"] = missing_;
    json["assumed"] = assumed_;
    made.name = name_;
    made.files.emplace_back("import.json", json_document(json));
    std::ranges::sort(made.files);
    return made;
  }

 private:
  void add(const std::vector<GivenFile>& files, std::vector<Setting>& to) {
    for (const GivenFile& file : files) {
      files_.push_back(file.path().filename().string());
      for (MlperfRun& run : read_mlperf_log(file)) {
        ++count_;
        if (!benchmark_.empty() && !run.benchmark.empty() && run.benchmark != benchmark_)
          throw DataError(fmt::format("{}: is of the benchmark {}, and others are of {}; give the logs of one", file.shown().string(),
                                      on_one_line(run.benchmark), on_one_line(benchmark_)));
        if (benchmark_.empty()) benchmark_ = run.benchmark;
        Setting made;
        made.nodes = std::round(run.nodes.value_or(1));
        made.counted = run.accelerators.has_value();
        made.workers = std::max(made.nodes, std::round(run.accelerators.value_or(made.nodes * usual_per_host)));
        made.batch = std::max(1.0, std::round(run.batch.value_or(made.workers)));
        const auto found = std::ranges::find_if(
            to, [&](const Setting& each) { return each.nodes == made.nodes && each.workers == made.workers && each.batch == made.batch; });
        (found == to.end() ? to.emplace_back(made) : *found).runs.push_back(std::move(run));
      }
    }
    std::ranges::stable_sort(to, {}, [](const Setting& each) { return std::pair(each.workers, each.batch); });
  }

  void benchmark_of() {
    for (const Benchmark& each : benchmarks)
      if (benchmark_ == each.name) known_ = &each;
  }
  double parameters() const { return known_ ? known_->parameters : unknown_parameters; }

  std::vector<const MlperfRun*> all_runs() const {
    std::vector<const MlperfRun*> all;
    for (const std::vector<Setting>* settings : {&settings_, &held_})
      for (const Setting& each : *settings)
        for (const MlperfRun& run : each.runs) all.push_back(&run);
    return all;
  }

  static std::string said_of(const Setting& each) {
    const std::vector<const MlperfRun*> good = each.reached();
    std::string text =
        fmt::format("{}: {} of {} run{} reached the target", each.text(), good.size(), each.runs.size(), each.runs.size() == 1 ? "" : "s");
    if (good.empty()) return text + ", so nothing is averaged";
    const auto [least, most] = std::ranges::minmax(good, {}, [](const MlperfRun* run) { return run->seconds; });
    text += fmt::format(" in {:.2f}{} minutes", least->seconds / 60,
                        most->seconds - least->seconds < 0.3 ? "" : fmt::format(" to {:.2f}", most->seconds / 60));
    if (const std::optional<double> step = each.step())
      text += fmt::format("; {} samples a second, a step {}", readable_count(static_cast<std::uint64_t>(std::llround(each.batch / *step))),
                          readable_seconds(*step));
    return text;
  }

  static Json median_of(const std::vector<const MlperfRun*>& runs, std::optional<double> MlperfRun::*figure) {
    std::vector<double> all;
    for (const MlperfRun* run : runs)
      if (run->*figure) all.push_back(*(run->*figure));
    return all.empty() ? Json() : Json(median_seconds(all));
  }

  static Json json_of(const std::vector<Setting>& settings) {
    Json all = Json::array();
    for (const Setting& each : settings) {
      const std::vector<const MlperfRun*> good = each.reached();
      std::vector<double> minutes;
      for (const MlperfRun* run : good) minutes.push_back(run->seconds / 60);
      const std::optional<double> step = each.step();
      all.push_back({{"nodes", static_cast<std::int64_t>(each.nodes)},
                     {"accelerators", each.counted ? Json(static_cast<std::int64_t>(each.workers)) : Json()},
                     {"batch", static_cast<std::int64_t>(each.batch)},
                     {"batch_of_one", each.counted ? Json(each.batch / each.workers) : Json()},
                     {"learning_rate", median_of(good.empty() ? pointers(each) : good, &MlperfRun::learning_rate)},
                     {"warmup_epochs", median_of(good.empty() ? pointers(each) : good, &MlperfRun::warmup_epochs)},
                     {"runs", each.runs.size()},
                     {"reached", good.size()},
                     {"aborted", each.runs.size() - good.size()},
                     {"epochs", median_of(good, &MlperfRun::epochs)},
                     {"minutes", minutes},
                     {"samples_per_second", median_of(good, &MlperfRun::rate)},
                     {"step_s", step ? Json(*step) : Json()}});
    }
    return all;
  }
  static std::vector<const MlperfRun*> pointers(const Setting& setting) {
    std::vector<const MlperfRun*> all;
    for (const MlperfRun& run : setting.runs) all.push_back(&run);
    return all;
  }

  Json runs_json() const {
    Json all = Json::array();
    for (const MlperfRun* run : all_runs())
      all.push_back({{"file", run->file},
                     {"status", run->status},
                     {"seconds", run->seconds},
                     {"nodes", json_or_null(run->nodes)},
                     {"accelerators", json_or_null(run->accelerators)},
                     {"platform", text_or_null(run->platform)},
                     {"batch", json_or_null(run->batch)},
                     {"optimizer", text_or_null(run->optimizer)},
                     {"learning_rate", json_or_null(run->learning_rate)},
                     {"warmup_epochs", json_or_null(run->warmup_epochs)},
                     {"epochs", json_or_null(run->epochs)},
                     {"accuracy", json_or_null(run->accuracy)},
                     {"samples_per_second", json_or_null(run->rate)},
                     {"step_s", json_or_null(run->step())}});
    return all;
  }

  /// By least squares of relative errors. What the settings cannot separate is assumed.
  Fitted fit() const {
    double bb = 0, bs = 0, ss = 0, b = 0, s = 0;
    for (const Setting* each : timed_) {
      const double y = *each->step(), x = each->per_worker() / y, z = each->sent() / y;
      bb += x * x, bs += x * z, ss += z * z, b += x, s += z;
    }
    const double determinant = bb * ss - bs * bs;
    Fitted made;
    if (timed_.size() > 1 && determinant > 1e-6 * bb * ss) {
      made = {(b * ss - s * bs) / determinant, (bb * s - bs * b) / determinant, true};
      const bool sound = made.per_sample > 0 && made.exchange > 0 && std::ranges::all_of(timed_, [&](const Setting* each) {
                           return made.exchange * each->sent() <= most_exposed * *each->step();
                         });
      if (sound) return made;
    }
    const double exchange = 4 * parameters() / assumed_link;
    made = {0, exchange, false};
    double sum = 0;
    for (const Setting* each : timed_) sum += std::max(0.1 * *each->step(), *each->step() - exchange * each->sent()) / each->per_worker();
    made.per_sample = sum / static_cast<double>(timed_.size());
    return made;
  }

  double bandwidth() const { return six_digits(std::clamp(4 * parameters() / fitted_.exchange, 1e3, 1e14)); }

  /// What the fit says of what is held out, and whether its batches were measured.
  void predict(Imported& made, Json& json) {
    Json warnings = Json::array();
    const auto [low, high] = std::ranges::minmax(timed_, {}, [](const Setting* each) { return each->per_worker(); });
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const Setting& each = held_[i];
      const double batch = each.per_worker(), predicted = fitted_.per_sample * batch + fitted_.exchange * each.sent();
      Json& row = json["held_out"][i];
      row["predicted_step_s"] = predicted;
      made.said.emplace_back("predicts", fmt::format("{}: a step of {}, measured {} ({:+.1f} %)", each.text(), readable_seconds(predicted),
                                                     readable_seconds(*each.step()), 100 * (predicted / *each.step() - 1)));
      if (batch >= low->per_worker() && batch <= high->per_worker()) continue;
      const Setting& near = batch < low->per_worker() ? *low : *high;
      const double in_proportion = *near.step() * batch / near.per_worker();
      std::string sentence = fmt::format(
          "{:.0f} samples a worker are outside of the measured batches ({:.0f}{}): in proportion a step takes {}", batch, low->per_worker(),
          low->per_worker() == high->per_worker() ? "" : fmt::format(" to {:.0f}", high->per_worker()), readable_seconds(in_proportion));
      row["in_proportion_s"] = in_proportion;
      if (low->per_worker() < high->per_worker()) {
        const double slope = (*high->step() - *low->step()) / (high->per_worker() - low->per_worker());
        const double on_line = *low->step() + slope * (batch - low->per_worker());
        row["on_a_line_s"] = on_line;
        sentence += fmt::format(", by the line through the smallest and the largest batch {}", readable_seconds(on_line));
      }
      made.said.emplace_back("warning", sentence);
      warnings.push_back(sentence);
    }
    json["warnings"] = std::move(warnings);
  }

  void assume() {
    assumed_.emplace_back("computing in proportion to the batch, and one all-reduce behind it, in a ring that is free inside of a host");
    if (!fitted_.of_exchange)
      assumed_.emplace_back("a link of 200 Gbit/s: the settings do not separate computing from what the hosts exchange");
    if (known_)
      assumed_.push_back(fmt::format("gradients of {} in FP32: with fewer bytes as much less bandwidth fits", known_->model));
    else
      missing_.emplace_back("the size of the model: 100M parameters are assumed, and only their ratio to the link's bandwidth counts");
    if (!std::ranges::all_of(timed_, [](const Setting* each) { return each->counted; }))
      missing_.emplace_back("the number of accelerators: 8 a node are assumed");
  }

  std::string sources() const {
    std::vector<std::string> names;
    for (const std::string& file : files_) names.push_back(on_one_line(file));
    return names.size() <= 2 ? listed(names) : fmt::format("{} and {} more files", names[0], names.size() - 1);
  }

  std::string scenario(const Setting& job) const {
    const std::string from = sources(), source = "from " + from;
    const MlperfRun& run = *job.reached().front();
    std::string yaml = fmt::format(
        "{} {} from {}, which replaces this file while this line begins it.\n#   straggler run FILE --timing-only\n"
        "# MLPerf {}, {}: a step takes {}\n",
        import_mark, version(), from, on_one_line(benchmark_), job.text(), readable_seconds(*job.step()));
    for (const std::string& sentence : assumed_) yaml += "# assumed: " + on_one_line(sentence) + "\n";
    for (const std::string& sentence : missing_) yaml += "# missing: " + on_one_line(sentence) + "\n";
    yaml += fmt::format(
        "straggler: 1\nname: {}\n\ndevices:\n  gpu: {{compute: {{affine: {{per_sample: {}}}}}}}   # {}: fitted to {} setting{}\n\n"
        "cluster:\n  workers: [{{count: {:.0f}, device: gpu, per_host: {:.0f}}}]   # {}\n"
        "  network:\n    link: {{bandwidth: {}, latency: {}}}   # {}\n    collective: {{algorithm: ring}}   # assumed\n\n"
        "workload:\n  cost: {{model: {{kind: even, parameters: {:.0f}, layers: 1, flops: 1}}}}   # {}\n\n"
        "training:\n  scheme: ssgd   # assumed\n  batch: {{per_worker: {:.0f}}}   # {}\n"
        "  optimizer: {{kind: sgd, learning_rate: {}}}   # {}: {}\n  stop: {{updates: 400}}   # assumed\n",
        yaml_word(name_), format_quantity(six_digits(std::clamp(fitted_.per_sample, 1e-9, 1e6)), Dimension::time), source, timed_.size(),
        timed_.size() == 1 ? "" : "s", job.workers, job.per_host(), job.counted ? source : "assumed",
        format_quantity(bandwidth(), Dimension::rate), format_quantity(link_latency, Dimension::time),
        fitted_.of_exchange ? source + ": fitted, for all-reduces that nothing hides" : "assumed", std::min(parameters(), 1e12),
        known_ ? std::string("assumed: ") + known_->model : "assumed", job.per_worker(), source,
        format_number(std::clamp(run.learning_rate.value_or(0.1), 1e-9, 1e9)), run.learning_rate ? source : "assumed",
        run.optimizer.empty() ? "optimizer unknown" : run.optimizer);
    return yaml;
  }

  std::string measured() const {
    std::string csv = "set,nodes,workers,per_host,batch,global_batch,runs,step_s\n";
    const auto add = [&](const char* set, const Setting& each) {
      csv += fmt::format("{},{:.0f},{:.0f},{:.0f},{:.0f},{:.0f},{},{}\n", set, each.nodes, each.workers, each.per_host(), each.per_worker(),
                         each.batch, each.reached().size(), format_number(*each.step()));
    };
    for (const Setting* each : timed_) add("fitted", *each);
    for (const Setting& each : held_) add("held_out", each);
    return csv;
  }

  std::string claim() const {
    const bool predicts = !held_.empty();
    std::string yaml = fmt::format(
        "claim: 1\n{}title: {}\nsource: {}\nscenario: scenario.yaml\nmeasured: measured.csv\n"
        "bind: {{workers: \"cluster.workers[0].count\", per_host: \"cluster.workers[0].per_host\", batch: training.batch.per_worker}}\n"
        "compare: {{column: step_s, unit: s, metric: update_seconds}}\n",
        predicts ? "" : "kind: replay   # its figures come from the files themselves: it predicts nothing\n",
        yaml_quoted(predicts ? name_ + " predicts what is held out" : name_ + " is replayed"), yaml_quoted("from " + sources()));
    if (predicts) {
      const auto range = [](const char* path, double value, Dimension dimension) {
        return fmt::format("{{path: {}, from: {}, to: {}}}", path, format_quantity(six_digits(value / 100), dimension),
                           format_quantity(six_digits(value * 100), dimension));
      };
      yaml += fmt::format("fit:\n  parameters:\n    - {}\n",
                          range("devices.gpu.compute.affine.per_sample", fitted_.per_sample, Dimension::time));
      if (fitted_.of_exchange) yaml += fmt::format("    - {}\n", range("cluster.network.link.bandwidth", bandwidth(), Dimension::rate));
      yaml += "  rows: [{set: fitted}]\n";
    }
    return yaml + "bound: {max: " + (predicts ? "15%" : "5%") + "}\n";
  }

  std::string name_, benchmark_;
  std::map<std::string, std::string> names_;  // of an import of the file alone
  std::vector<std::string> files_, assumed_, missing_;
  std::vector<Setting> settings_, held_;
  std::vector<const Setting*> timed_;  // of settings_: with a step
  const Benchmark* known_ = nullptr;
  std::size_t count_ = 0;
  Fitted fitted_;
};

bool recognizes(const FileStart& start) {
  return start.bytes.find('\0') == std::string_view::npos && start.bytes.find(":::MLLOG") != std::string_view::npos;
}

const Register<ImportFormat> mlperf(ImportFormat{
    .name = "mlperf",
    .summary = "logs of MLPerf Training (:::MLLOG), a file a run",
    .example = "result_0.txt of a submission: github.com/mlcommons/training_results_v2.0",
    .yields = "a job",
    .parameters = {},
    .recognizes = recognizes,
    .read = [](const std::vector<GivenFile>& files, const Parameters&) { return Import(files, {}).imported(); },
    .predict = [](const std::vector<GivenFile>& files, const std::vector<GivenFile>& held) { return Import(files, held).imported(); }});

}  // namespace
}  // namespace straggler::import_mlperf
