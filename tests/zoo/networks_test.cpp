// Every network of the zoo and small ones with every kind of layer, in every engine that computes them, against PyTorch
// (reference/networks.csv, made by reference/make_networks in float64): loss, gradient and batch statistics, ten steps of SGD, and an
// evaluation with the running statistics.
//
// The plain implementations in double must agree to 1e-9 (the file has 12 digits). Engines in float must agree to 1e-5: PyTorch's own
// float32 is off by less than 5e-6, as the file says, from rounding alone. What is said of a gradient holds for the whole, and of each
// tensor by itself as far as PyTorch's float32 gets it right.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "models/zoo/reference_network.hpp"
#if STRAGGLER_ONEDNN
#include "models/kernels/onednn/maps.hpp"
#include "models/kernels/onednn/operators.hpp"
#include "models/zoo/onednn_planner.hpp"
#endif
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/zoo/networks.hpp"

namespace straggler::test::networks_test {
namespace {

constexpr double rate = 0.01, momentum = 0.9, decay = 5e-4;

/// What the file says of one network.
struct Reference {
  std::uint64_t seed = 0;
  std::size_t rows = 0, parameters = 0, steps = 0;
  bool saturated = false;
  std::vector<double> float32, losses, evaluation;
  /// [what][tensor or buffer]: norm, sum and eight numbers, or under "whole" all of them.
  std::map<std::string, std::vector<std::vector<double>>> tensors;
};

std::map<std::string, Reference> read_references() {
  std::ifstream file(STRAGGLER_SOURCE_DIR "/tests/zoo/reference/networks.csv");
  REQUIRE(file.good());
  std::map<std::string, Reference> references;
  std::string line, name, what, cell;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::getline(cells, name, ',');
    std::getline(cells, what, ',');
    std::vector<double> values;
    while (std::getline(cells, cell, ',')) values.push_back(std::stod(cell));
    Reference& reference = references[name];
    if (what == "settings") {
      reference.seed = static_cast<std::uint64_t>(values.at(0));
      reference.rows = static_cast<std::size_t>(values.at(1));
      reference.parameters = static_cast<std::size_t>(values.at(2));
      reference.steps = static_cast<std::size_t>(values.at(3));
      reference.saturated = values.at(4) != 0;
    } else if (what == "float32") {
      reference.float32 = values;
    } else if (what == "losses") {
      reference.losses = values;
    } else if (what == "evaluation") {
      reference.evaluation = values;
    } else {
      REQUIRE(static_cast<std::size_t>(values.at(0)) == reference.tensors[what].size());
      reference.tensors[what].emplace_back(values.begin() + 1, values.end());
    }
  }
  return references;
}

const std::map<std::string, Reference>& references() {
  static const std::map<std::string, Reference> all = read_references();
  return all;
}

std::size_t elements(const TensorInfo& tensor) {
  std::size_t count = 1;
  for (const std::size_t width : tensor.shape) count *= width;
  return count;
}

double norm_of(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

/// How far a tensor is from what the file has of it, in the Euclidean norm: all numbers, or estimated by norm, sum and eight of them. An
/// error e of n numbers changes their norm by up to e and their sum by up to e √n; and eight of them are off by e √(8 / n), as all are.
template <class Scalar>
double error_of(const Scalar* tensor, std::size_t count, const std::vector<double>& expected, bool whole) {
  std::vector<double> own = as<double>(std::vector<Scalar>(tensor, tensor + count));
  if (whole) {
    for (std::size_t i = 0; i < count; ++i) own[i] -= expected.at(i);
    return norm_of(own);
  }
  double sum = 0;
  std::vector<double> sampled;
  for (const double value : own) sum += value;
  for (std::size_t k = 0; k < 8; ++k) sampled.push_back(own[k * count / 8] - expected.at(2 + k));
  const double root = std::sqrt(static_cast<double>(count));
  return std::max({std::abs(norm_of(own) - expected[0]), std::abs(sum - expected[1]) / root, norm_of(sampled) * root / std::sqrt(8.0)});
}

/// Something that computes a network, in some scalar.
template <class Scalar>
struct Subject {
  Architecture architecture;
  std::function<double(const std::vector<Scalar>& weights, const RecipeBatch& batch, std::vector<Scalar>& gradient)> gradient;
  std::function<double(const std::vector<Scalar>& weights, const RecipeBatch& batch, std::uint64_t& correct)> evaluate;
};

template <class Scalar>
class Follower {
 public:
  Follower(Subject<Scalar> subject, const Reference& reference, double tolerance)
      : subject_(std::move(subject)),
        reference_(reference),
        tolerance_(tolerance),
        tensor_tolerance_(std::is_same_v<Scalar, double> ? tolerance : std::max(tolerance, 5 * reference.float32.at(5))),
        layout_(subject_.architecture),
        weights_(as<Scalar>(recipe_weights(subject_.architecture, reference.seed, reference.saturated))),
        gradient_(weights_.size()),
        velocity_(layout_.parameters) {}

  /// The first batch: loss, gradient, batch statistics. Then, if `all`, the other steps, what they lead to, and an evaluation.
  void follow(bool all) {
    REQUIRE(layout_.parameters == reference_.parameters);
    const RecipeBatch first = batch(0);
    CHECK(subject_.gradient(weights_, first, gradient_) == doctest::Approx(reference_.losses[0]).epsilon(tolerance_));
    const bool whole = reference_.tensors.count("whole") > 0;
    compare(whole ? "whole" : "gradient", gradient_, tensors_of(subject_.architecture));
    compare("batch", gradient_, buffers_of(subject_.architecture));
    if (!all) return;
    for (std::size_t step = 0; step < reference_.steps; ++step) {
      if (step > 0) {
        const double loss = subject_.gradient(weights_, batch(step), gradient_);
        CAPTURE(step);
        CHECK(loss == doctest::Approx(reference_.losses[step]).epsilon(tolerance_));
      }
      if (reference_.steps > 1) descend();
      for (std::size_t i = layout_.parameters; i < weights_.size(); ++i) weights_[i] += Scalar(0.1) * (gradient_[i] - weights_[i]);
    }
    if (reference_.steps > 1) compare("weights", weights_, tensors_of(subject_.architecture));
    compare("running", weights_, buffers_of(subject_.architecture));
    std::uint64_t correct = 0;
    CHECK(subject_.evaluate(weights_, first, correct) == doctest::Approx(reference_.evaluation[0]).epsilon(tolerance_));
    CHECK(correct == static_cast<std::uint64_t>(reference_.evaluation[1]));
  }

 private:
  RecipeBatch batch(std::size_t step) const { return recipe_batch(subject_.architecture, reference_.seed, step, reference_.rows); }

  void descend() {
    for (std::size_t i = 0; i < layout_.parameters; ++i) {
      velocity_[i] = Scalar(momentum) * velocity_[i] + (gradient_[i] + Scalar(decay) * weights_[i]);
      weights_[i] -= Scalar(rate) * velocity_[i];
    }
  }

  void compare(const std::string& what, const std::vector<Scalar>& values, const std::vector<TensorInfo>& infos) {
    const auto found = reference_.tensors.find(what);
    REQUIRE((found == reference_.tensors.end() ? 0 : found->second.size()) == infos.size());
    if (infos.empty()) return;
    const bool whole = what == "whole";
    std::vector<double> norms, errors;
    for (const std::vector<double>& expected : found->second) norms.push_back(whole ? norm_of(expected) : expected[0]);
    const double norm = norm_of(norms);
    for (std::size_t t = 0; t < infos.size(); ++t) {
      errors.push_back(error_of(values.data() + infos[t].offset, elements(infos[t]), found->second[t], whole));
      CAPTURE(what);
      CAPTURE(infos[t].name);
      CHECK(errors[t] <= tensor_tolerance_ * std::max(norms[t], 0.01 * norm));
    }
    CAPTURE(what);
    CHECK(norm_of(errors) <= tolerance_ * norm);
  }

  Subject<Scalar> subject_;
  const Reference& reference_;
  const double tolerance_;
  /// Some tensors' gradients nearly cancel; those of PyTorch's float32 are off by more than the whole, too.
  const double tensor_tolerance_;
  NetworkLayout layout_;
  std::vector<Scalar> weights_, gradient_, velocity_;
};

Subject<float> subject(Architecture architecture, const Model& model) {
  const std::shared_ptr<Workspace> workspace = model.workspace();
  return {std::move(architecture),
          [&model, workspace](const std::vector<float>& weights, const RecipeBatch& batch, std::vector<float>& gradient) {
            return model.gradient(weights.data(), batch.rows(), false, gradient.data(), *workspace);
          },
          [&model, workspace](const std::vector<float>& weights, const RecipeBatch& batch, std::uint64_t& correct) {
            return model.evaluate(weights.data(), batch.rows(), correct, *workspace);
          }};
}

/// A batch's numbers in double.
struct InDouble {
  std::vector<double> inputs, scale;
  /// The float 1 / rows is not 1 / rows.
  explicit InDouble(const RecipeBatch& batch)
      : inputs(as<double>(batch.inputs)), scale(batch.scale.size(), 1 / static_cast<double>(batch.scale.size())) {}
};

Subject<double> subject(const ReferenceNetwork<double>& network) {
  const auto memory = std::make_shared<ReferenceNetwork<double>::Memory>(network.memory());
  const auto with = [](const RecipeBatch& batch, const InDouble& numbers) {
    return ReferenceNetwork<double>::Batch{batch.scale.size(), numbers.inputs.data(), batch.labels.data(), numbers.scale.data(), nullptr};
  };
  return {network.architecture(),
          [&network, memory, with](const std::vector<double>& weights, const RecipeBatch& batch, std::vector<double>& gradient) {
            const InDouble numbers(batch);
            return network.gradient(weights.data(), with(batch, numbers), false, gradient.data(), *memory);
          },
          [&network, memory, with](const std::vector<double>& weights, const RecipeBatch& batch, std::uint64_t& correct) {
            const InDouble numbers(batch);
            return network.evaluate(weights.data(), with(batch, numbers), correct, *memory);
          }};
}

/// The first of a process may be what some library keeps to in all of it.
std::vector<const Kernels*> fastest_first() {
  std::vector<const Kernels*> sets = all_kernels();
  std::reverse(sets.begin(), sets.end());
  return sets;
}

/// As a scenario gets it, but for how it convolves: Winograd's algorithm rounds more coarsely, and has a test and a bound of its own.
std::unique_ptr<Model> made_by(const ModelEntry& entry, const DataInfo& data, const Kernels& kernels) {
  Parameters given;
  for (const Parameter& parameter : entry.parameters)
    if (parameter.name == "convolution") given = {{"convolution", std::string("direct")}};
  return entry.make(complete(entry.parameters, given), data, ModelSetting{kernels});
}

bool huge(const Reference& reference) { return reference.parameters > 5'000'000; }

// Where the program is built without oneDNN, no engine has that name.
#if STRAGGLER_ONEDNN
bool has_onednn(std::string_view kernels) { return onednn::map_kernels(kernels) != nullptr; }
bool confine_onednn(std::string_view kernels) { return onednn::confine(kernels); }
bool onednn_plans(const Architecture& architecture) { return onednn::plannable(architecture); }
#else
bool has_onednn(std::string_view) { return false; }
bool confine_onednn(std::string_view) { return false; }
bool onednn_plans(const Architecture&) { return false; }
#endif

}  // namespace

TEST_CASE("the plain implementations in double equal PyTorch's float64") {
  for (const auto& named : references()) {
    const std::string& name = named.first;
    const Reference& reference = named.second;
    if (reference.parameters > (sanitized ? 50'000 : 1'000'000)) continue;
    CAPTURE(name);
    const ReferenceNetwork<double> network(network_named(name));
    Follower<double> follower(subject(network), reference, 1e-9);
    follower.follow(true);
  }
}

TEST_CASE("every engine equals PyTorch on every network that it computes") {
  // oneDNN takes one set of instructions a process. Were another test first with a slower one, it would be left out below, unseen.
  const std::string_view fastest = fastest_first().front()->name;
  const bool onednn_has_it = has_onednn(fastest);
  if (onednn_has_it)
    REQUIRE_MESSAGE(confine_onednn(fastest), "a test of this process has confined oneDNN to other instructions than " << fastest);
  for (const auto& named : references()) {
    const std::string& name = named.first;
    const Reference& reference = named.second;
    if (sanitized && huge(reference)) continue;
    CAPTURE(name);
    for (std::size_t i = 0; i < 5; ++i) CHECK(reference.float32.at(i) < 5e-6);  // else the file is of no use for 1e-5
    std::size_t computed = 0, by_onednn = 0;
    for (const NetworkEngine& engine : Registry<NetworkEngine>::instance().entries())
      for (const Kernels* kernels : fastest_first()) {
        const bool plain = engine.name == "reference";  // knows no kernels
        const ModelSetting setting{*kernels, Precision::fp32, ConvolutionRule::direct};
        if (((plain || huge(reference)) && kernels != fastest_first().front()) || !engine.computes(network_named(name), setting)) continue;
        if (engine.usable && !engine.usable(setting)) continue;
        CAPTURE(engine.name);
        CAPTURE(kernels->name);
        const std::unique_ptr<Model> model = make_network(network_named(name), setting, engine.name);
        CHECK(model->engine() == engine.name);
        Follower<float> follower(subject(network_named(name), *model), reference, 1e-5);
        follower.follow(!(plain && huge(reference)) && !(sanitized && reference.parameters > 1'000'000));
        ++computed;
        by_onednn += engine.name == "onednn";
      }
    CHECK(computed > 0);
    CHECK((by_onednn > 0) == (onednn_has_it && onednn_plans(network_named(name))));
  }
}

TEST_CASE("auto takes panels for chains, oneDNN where a convolution reads many channels, and the reference for what they lack") {
  const auto chain = [](std::size_t channels, bool drop_out) {
    ArchitectureBuilder build({channels, 4, 4});
    LayerIndex x = build.relu(build.conv(network_input, "conv", 3, Window::square(3, 1, 1), true));
    if (drop_out) x = build.dropout(x);
    build.linear(build.flatten(x), "fc", 2);
    return std::move(build).build();
  };
  const ModelSetting fastest{*fastest_first().front()}, generic{select_kernels("generic")};
  CHECK(choose_engine(chain(64, false), fastest, "auto").name == "panels");
  CHECK(choose_engine(chain(65, false), fastest, "auto").name == (has_onednn(fastest.kernels.name) ? "onednn" : "panels"));
  CHECK(choose_engine(chain(65, false), generic, "auto").name == "panels");
  CHECK(choose_engine(chain(64, true), fastest, "auto").name == "reference");
  CHECK(choose_engine(chain(64, false), fastest, "reference").name == "reference");
  CHECK_THROWS_AS(choose_engine(chain(64, true), fastest, "panels"), std::invalid_argument);
  CHECK_THROWS_AS(choose_engine(chain(64, false), fastest, "unheard_of"), std::invalid_argument);
}

TEST_CASE("every model of the zoo that PyTorch has computed equals it, as it is made for a scenario") {
  std::size_t found = 0;
  for (const auto& named : references()) {
    const std::string& name = named.first;
    const Reference& reference = named.second;
    const ModelEntry* const entry = Registry<ModelEntry>::instance().find(name);
    if (!entry || (sanitized && huge(reference))) continue;
    CAPTURE(name);
    const Architecture architecture = network_named(name);
    DataInfo data;
    data.features = architecture.input.size();
    data.shape = {architecture.input.channels, architecture.input.height, architecture.input.width};
    data.classes = architecture.layers.back().out.size();
    for (const Kernels* kernels : fastest_first()) {
      CAPTURE(kernels->name);
      const std::unique_ptr<Model> model = made_by(*entry, data, *kernels);
      const std::vector<TensorInfo> own = model->tensors(), expected = tensors_of(architecture);
      REQUIRE(own.size() == expected.size());
      for (std::size_t t = 0; t < own.size(); ++t) {
        CHECK(own[t].shape == expected[t].shape);
        CHECK(own[t].offset == expected[t].offset);
      }
      REQUIRE(model->length() == NetworkLayout(architecture).parameters + NetworkLayout(architecture).statistic_floats);
      if (huge(reference) && kernels != fastest_first().front()) continue;  // seconds each; the engines are checked above
      Follower<float>(subject(architecture, *model), reference, 1e-5).follow(!sanitized && !huge(reference));
    }
    ++found;
  }
  CHECK(found >= 2);  // softmax and mlp at least
}

}  // namespace straggler::test::networks_test
