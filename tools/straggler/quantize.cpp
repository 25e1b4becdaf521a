#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "models/data/blocks.hpp"
#include "models/data/permutation.hpp"
#include "models/quantization/model_file.hpp"
#include "models/quantization/tables.hpp"
#include "models/safetensors/model_weights.hpp"
#include "scenarios/experiment/at_place.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/report/histogram_picture.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/source_text.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/program.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

constexpr const char* steps_file = "quantization.csv";
constexpr const char* model_prefix = "quantized-";
constexpr std::size_t usual_calibration_samples = 1000;

po::options_description quantize_options() {
  po::options_description options("Options", help_width);
  const auto text = [] { return po::value<std::string>(); };
  auto add = options.add_options();
  add("scenario", text()->value_name("FILE"), "scenario whose model and data these are (required)");
  add("bits", text()->value_name("N[,N...]"), "bits of weights and activations, 2 to 8; several are run one after the other (default: 8)");
  add("weight-bits", text()->value_name("N"), "bits of weights, instead of --bits");
  add("activation-bits", text()->value_name("N"), "bits of activations, instead of --bits");
  add("weights", "quantizes weights; without any of --weights, --activations and --biases: all three, and inference in integers");
  add("activations", "quantizes activations");
  add("biases", "quantizes biases (32 bits, at the scale of weights times inputs)");
  add("scheme", text()->value_name("NAME"), "symmetric or affine grids (default: symmetric)");
  add("granularity", text()->value_name("NAME"), "one grid of weights per channel or per tensor (default: channel)");
  add("ranges", text()->value_name("NAME"), "range of a grid: min_max, percentile or mse (least squared error) (default: min_max)");
  add("percentile", text()->value_name("P"), "with --ranges percentile: share of values below the upper end, in % (default: 99.99)");
  add("calibration-samples", text()->value_name("N"), "training samples for measuring ranges of activations (default: 1000)");
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"), "changes the scenario first; repeatable");
  add("kernels", text()->value_name("NAME"), "instruction set of the math (default: auto, the fastest)");
  add("out,o", text()->value_name("DIR"), "folder of the results (default: results/NAME-quantized)");
  add("force", "writes into a folder that holds something else");
  return options;
}

/// Index of the given word in `words`.
std::size_t choice_of(const Arguments& arguments, const char* option, const std::vector<std::string>& words) {
  if (!arguments.has(option)) return 0;
  const std::string& given = arguments.get<std::string>(option);
  const auto at = std::find(words.begin(), words.end(), given);
  if (at == words.end()) throw UsageError(unknown_name(std::string("--") + option, given, words));
  return static_cast<std::size_t>(at - words.begin());
}

int bits_of(const char* option, const std::string& text) {
  if (text.size() == 1 && text[0] >= '0' + least_bits && text[0] <= '0' + most_bits) return text[0] - '0';
  throw UsageError(fmt::format("--{} is {}; it must be a whole number from {} to {}", option, in_quotes(text), least_bits, most_bits));
}

std::vector<int> all_bits(const Arguments& arguments) {
  if (!arguments.has("bits")) return {most_bits};
  const std::string& text = arguments.get<std::string>("bits");
  std::vector<int> bits;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    bits.push_back(bits_of("bits", text.substr(at, comma - at)));
    if (std::count(bits.begin(), bits.end(), bits.back()) > 1)
      throw UsageError(fmt::format("--bits names {} twice; name each number once", bits.back()));
    at = comma + 1;
  }
  return bits;
}

double percentile_of(const Arguments& arguments) {
  if (!arguments.has("percentile")) return QuantizationChoice{}.percentile;
  const std::string& text = arguments.get<std::string>("percentile");
  if (choice_of(arguments, "ranges", {"min_max", "percentile", "mse"}) != 1)
    throw UsageError("--percentile needs --ranges percentile; give both or neither");
  try {
    std::size_t end = 0;
    const double value = std::stod(text, &end);
    if (end == text.size() && value > 50 && value <= 100) return value;
  } catch (const std::logic_error&) {
  }
  throw UsageError(fmt::format("--percentile is {}; it must be a number above 50 and at most 100", in_quotes(text)));
}

QuantizedParts parts_of(const Arguments& arguments) {
  QuantizedParts parts{arguments.flag("weights"), arguments.flag("activations"), arguments.flag("biases")};
  return parts.weights || parts.activations || parts.biases ? parts : QuantizedParts{};
}

std::string model_file_of(const QuantizationChoice& choice, const QuantizedParts& parts) {
  std::string what;
  if (parts.weights) what += fmt::format("w{}", choice.weight_bits);
  if (parts.activations) what += fmt::format("a{}", choice.activation_bits);
  return fmt::format("{}{}.safetensors", model_prefix, what.empty() ? "biases" : what);
}

std::string kernels_of(const Arguments& arguments) {
  if (!arguments.has("kernels")) return "auto";
  std::vector<std::string> known{"auto"};
  for (const std::string_view name : available_kernels()) known.emplace_back(name);
  return known[choice_of(arguments, "kernels", known)];
}

class Quantization {
 public:
  explicit Quantization(const Arguments& arguments)
      : arguments_(arguments), parts_(parts_of(arguments)), bits_(all_bits(arguments)), kernels_(kernels_of(arguments)) {
    for (const int bits : bits_) choices_.push_back(choice(bits));
    for (std::size_t i = 1; i < choices_.size(); ++i)
      if (model_file_of(choices_[i], parts_) == model_file_of(choices_[0], parts_))
        throw UsageError("several --bits have no effect with both --weight-bits and --activation-bits; give fewer of these");
    if (!arguments.has("scenario")) throw UsageError("--scenario is missing; name the scenario that trained the model");
    const std::vector<std::string> sets =
        arguments.has("set") ? arguments.get<std::vector<std::string>>("set") : std::vector<std::string>();
    scenario_ = read_scenario(input_file(arguments.file("scenario").string()), sets);
    out_ = arguments.has("out") ? fs::path(arguments.get<std::string>("out")) : fs::path("results") / (scenario_.name + "-quantized");
    if (out_.empty()) throw UsageError("--out is empty; name a folder");
    refuse_what_is_not_ours();
  }

  int execute() {
    const auto start = std::chrono::steady_clock::now();
    const Blueprint blueprint(scenario_, kernels_);
    if (!blueprint.has_data()) throw_error(scenario_, "workload.data", "calibrating needs samples, and there is no data; name a data set");
    const Architecture* const architecture = blueprint.model->architecture();
    if (!architecture)
      throw_error(
          scenario_, "workload.model",
          fmt::format("{} cannot be quantized; use a network of convolutions and linear layers", in_quotes(scenario_.workload.model.name)));
    const std::vector<float> weights = read_trained_weights(arguments_.positional().front(), *blueprint.model);
    const InferenceNetwork network =
        at_place(scenario_, "workload.model", [&] { return inference_network(*architecture, weights.data()); });
    const unsigned threads = thread_count(arguments_.common().threads);
    const Dataset data = blueprint.load_data(scenario_, threads);
    if (data.test.count() == 0) throw_error(scenario_, "workload.data", "there are no test samples; give data with a test set");
    const std::vector<float> calibration = calibration_inputs(data);
    of_model([&] {
      const PostTraining training(network, data.test, calibration, {*blueprint.kernels, threads});
      std::vector<StepResult> unquantized{evaluate_model(*blueprint.model, weights.data(), data.test, threads)};
      if (network.had_batch_norm) unquantized.push_back(training.folded());
      std::vector<QuantizationRun> runs;
      for (std::size_t i = 0; i < choices_.size(); ++i) runs.push_back({bits_[i], choices_[i], training.run(choices_[i], parts_)});
      write(training, unquantized, runs);
      print(unquantized, runs);
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!arguments_.common().quiet) print_text(stderr, "took {:.2f} s\n", seconds);
    return Exit::done;
  }

 private:
  /// Errors of computing with these weights name the weights' file: the scenario itself is valid.
  template <class Work>
  void of_model(const Work& work) const {
    try {
      work();
    } catch (const std::invalid_argument& wrong) {
      throw DataError(fmt::format("{}: {}", arguments_.positional().front(), wrong.what()));
    }
  }

  QuantizationChoice choice(int bits) const {
    QuantizationChoice choice;
    choice.weight_bits = arguments_.has("weight-bits") ? bits_of("weight-bits", arguments_.get<std::string>("weight-bits")) : bits;
    choice.activation_bits =
        arguments_.has("activation-bits") ? bits_of("activation-bits", arguments_.get<std::string>("activation-bits")) : bits;
    choice.scheme = choice_of(arguments_, "scheme", {"symmetric", "affine"}) == 1 ? GridScheme::affine : GridScheme::symmetric;
    choice.per_channel = choice_of(arguments_, "granularity", {"channel", "tensor"}) == 0;
    constexpr RangeRule rules[] = {RangeRule::min_max, RangeRule::percentile, RangeRule::mse};
    choice.ranges = rules[choice_of(arguments_, "ranges", {"min_max", "percentile", "mse"})];
    choice.percentile = percentile_of(arguments_);
    return choice;
  }

  void refuse_what_is_not_ours() const {
    std::error_code error;
    if (fs::exists(out_, error) && !fs::is_directory(out_, error))
      throw ResultsError(fmt::format("{}: is a file; name a folder with --out", out_.string()));
    if (arguments_.flag("force") || !fs::exists(out_, error) || fs::exists(out_ / steps_file, error) || fs::is_empty(out_, error)) return;
    throw ResultsError(fmt::format(
        "{}: holds something else than results of straggler quantize; choose another folder with --out, or --force", out_.string()));
  }

  std::vector<float> calibration_inputs(const Dataset& data) const {
    const std::size_t all = data.train.count();
    if (all == 0) throw_error(scenario_, "workload.data", "there are no training samples to calibrate on; give data with a training set");
    std::size_t count = std::min(usual_calibration_samples, all);
    if (arguments_.has("calibration-samples")) {
      count = arguments_.count("calibration-samples", 1);
      if (count > all)
        throw UsageError(fmt::format("--calibration-samples is {}, but there are {} training samples; use at most as many", count, all));
    }
    std::vector<float> inputs(count * data.info.features);
    float* next = inputs.data();
    for (const std::uint32_t index : choose(count, all, RandomStream(scenario_.seed, "quantize/calibration"))) {
      data.train.inputs.copy(index, next);
      next += data.info.features;
    }
    return inputs;
  }

  void write(const PostTraining& training, const std::vector<StepResult>& unquantized, const std::vector<QuantizationRun>& runs) const {
    const InferenceNetwork& network = training.network();
    const std::vector<NamedHistogram> weights = weight_histograms(network), activations = activation_histograms(network, training.seen());
    std::vector<std::pair<std::string, std::string>> files{
        {"ranges.csv", ranges_csv(network, training.seen(), runs, parts_)},
        {"weights_hist.csv", histograms_csv(weights)},
        {"weights_hist.svg", histogram_picture("weights, " + scenario_.name, weights)},
        {"activations_hist.csv", histograms_csv(activations)},
        {"activations_hist.svg", histogram_picture("activations on calibration samples, " + scenario_.name, activations)}};
    for (const QuantizationRun& run : runs)
      files.emplace_back(model_file_of(run.choice, parts_),
                         safetensors_bytes(quantized_file(network, run.outcome.quantized, run.choice, parts_)));
    files.emplace_back(steps_file, steps_csv(unquantized, runs));
    write_whole_files(out_, files);
    remove_earlier_models(files);
    results_are_in(out_);
  }

  /// Files of an earlier quantization into the same folder, with other bits.
  void remove_earlier_models(const std::vector<std::pair<std::string, std::string>>& written) const {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(out_, error)) {
      const std::string name = entry.path().filename().string();
      const bool ours = name.starts_with(model_prefix) && name.ends_with(".safetensors");
      if (ours && std::none_of(written.begin(), written.end(), [&](const auto& file) { return file.first == name; }))
        fs::remove(entry.path(), error);
    }
  }

  void print(const std::vector<StepResult>& unquantized, const std::vector<QuantizationRun>& runs) const {
    std::vector<std::vector<std::string>> rows{{"step", "bits", "accuracy", "change", "loss", "changed", "bytes"}};
    double before = unquantized.front().accuracy;
    const auto add = [&](const StepResult& step, const std::string& bits) {
      rows.push_back({step.step, bits, fmt::format("{:.2f} %", 100 * step.accuracy), fmt::format("{:+.2f}", 100 * (step.accuracy - before)),
                      readable_score(step.loss), readable_count(step.changed), readable_count(step.bytes)});
      before = step.accuracy;
    };
    for (const StepResult& step : unquantized) add(step, "32");
    for (const QuantizationRun& run : runs) {
      before = unquantized.back().accuracy;
      const QuantizationChoice& choice = run.choice;
      const std::string bits = choice.weight_bits == choice.activation_bits
                                   ? std::to_string(choice.weight_bits)
                                   : fmt::format("{}/{}", choice.weight_bits, choice.activation_bits);
      for (const StepResult& step : run.outcome.steps) add(step, bits);
    }
    print_text(
        "{}\nchange: in percentage points, from the previous step; changed: test samples with another class than in that step\n"
        "results in {}\n",
        aligned(rows, 1), out_.string());
  }

  const Arguments& arguments_;
  const QuantizedParts parts_;
  const std::vector<int> bits_;
  const std::string kernels_;
  std::vector<QuantizationChoice> choices_;  // [bits]
  Scenario scenario_;
  fs::path out_;
};

int execute_quantize(const std::vector<std::string>& given) {
  Arguments arguments(quantize_command, quantize_options());
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  return Quantization(arguments).execute();
}

}  // namespace

const Command quantize_command{
    "quantize", "MODEL.safetensors", "a trained model in integers of 2 to 8 bits: accuracy by step",
    "  straggler quantize results/lenet/model.safetensors --scenario lenet.yaml\n"
    "  straggler quantize results/lenet/model.safetensors --scenario lenet.yaml --bits 8,6,4 --ranges mse\n"
    "  straggler quantize model.safetensors --scenario lenet.yaml --weights --weight-bits 4 --granularity tensor\n",
    execute_quantize};

}  // namespace straggler::cli
