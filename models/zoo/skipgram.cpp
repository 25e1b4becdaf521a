// Skip-gram with negative sampling (Mikolov et al., Distributed Representations of Words and Phrases and their Compositionality, 2013,
// equation 4). Each word w has an input vector u_w and an output vector v_w; for a centre c with context o and negatives n_1 … n_k
//   loss = -log σ(u_c · v_o) - Σ log σ(-u_c · v_n)
// The negatives are drawn with probability proportional to count^0.75. A negative may equal the context, as in the equation (the word2vec
// program skips those). All pairs of a batch see the same weights, whereas word2vec steps pair by pair.
//
// Evaluation: the mean loss with negatives that depend on the pair alone, so that it is a fixed function of the weights. A pair is correct
// if its context scores above all of its negatives that are other words.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/data/word_list.hpp"
#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/model.hpp"
#include "models/zoo/noise.hpp"
#include "sim/base/prefetch.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::skipgram {
namespace {

/// Pairs per kernel call. Their rows are scattered in memory: they are prefetched while the block before is computed, and are still in the
/// first-level cache at their turn.
constexpr std::size_t block_pairs = 4;

void ask_for(const float* row, std::size_t width) {
  constexpr std::size_t line = 16;  // floats of a cache line
  for (std::size_t i = 0; i < width; i += line) prefetch_line(row + i);
  prefetch_line(row + width - 1);
}

class SkipGram final : public Model {
 public:
  SkipGram(std::shared_ptr<const WordList> vocabulary, std::size_t width, std::size_t negatives, const Kernels& kernels)
      : words_(vocabulary->size()), width_(width), targets_(1 + negatives), noise_(vocabulary->counts), kernels_(kernels) {}

  std::size_t parameters() const override { return 2 * words_ * width_; }
  std::vector<TensorInfo> tensors() const override {
    return {{"input.weight", {words_, width_}, 0}, {"output.weight", {words_, width_}, words_ * width_}};
  }
  bool draws() const override { return true; }
  /// An output's gradient is a factor times the centre, for each of a pair's targets.
  GradientPattern row_pattern() const override { return {width_, targets_}; }
  /// A pair reads one row of the inputs and computes a product with each of its targets' rows.
  std::vector<LayerCost> cost() const override {
    const double width = static_cast<double>(width_), targets = static_cast<double>(targets_);
    return {{"input", words_ * width_, 0, width * sizeof(float)},
            {"output", words_ * width_, 2 * width * targets, (width + 1) * targets * sizeof(float)}};
  }
  std::size_t workspace_bytes(std::size_t /*rows*/) const override {
    return sizeof(Blocks) + 2 * block_pairs * targets_ * (3 * sizeof(float*) + sizeof(std::uint32_t) + sizeof(float));
  }
  void initialize(std::uint64_t seed, float* weights) const override {
    RandomStream stream(seed, "model/input.weight");
    for (std::size_t i = 0; i < words_ * width_; ++i)
      weights[i] = static_cast<float>((stream.uniform() - 0.5) / static_cast<double>(width_));
    std::fill_n(weights + words_ * width_, words_ * width_, 0.0f);
  }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<Blocks>(targets_); }

  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override {
    if (!accumulate) std::fill_n(gradient, parameters(), 0.0f);
    return add_gradient(weights, rows, true, workspace, [&](std::size_t row) {
      return GradientRow{gradient + row * width_, gradient + row * width_, 0};
    });
  }
  void sparse_gradient(const float* weights, const Rows& rows, GradientRows& gradient, Workspace& workspace) const override {
    if (gradient.in_terms())
      add_terms(weights, rows, gradient, workspace);
    else
      add_gradient(weights, rows, false, workspace, [&](std::size_t row) { return gradient.row(row); });
  }

  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const override {
    return for_pairs(
        rows, workspace,
        [&](std::size_t row, std::size_t i, Block& block) {
          point(weights, rows, row, i, Hasher().add(word(rows, row)).add(label(rows, row)).key().low, block);
        },
        [&](Block& block, PairBlock& pairs) {
          pairs.scores = block.scores.data();
          const double loss = kernels_.negative_sampling(pairs);
          for (std::size_t i = 0; i < pairs.pairs; ++i) correct += is_best(block, i);
          return loss;
        });
  }

 private:
  /// Pointers to the weights and gradients of a block of pairs.
  struct Block {
    explicit Block(std::size_t per_pair)
        : targets(block_pairs * per_pair),
          outputs(block_pairs * per_pair),
          output_gradients(block_pairs * per_pair),
          outputs_before(block_pairs * per_pair),
          scores(block_pairs * per_pair) {}
    const float* centres[block_pairs];
    float* centre_gradients[block_pairs];
    const float* centres_before[block_pairs];
    float* centre_copies[block_pairs];
    float* factors = nullptr;
    std::vector<std::uint32_t> targets;  // words
    std::vector<const float*> outputs;
    std::vector<float*> output_gradients;
    std::vector<const float*> outputs_before;
    std::vector<float> scores;
  };
  /// The block being computed, and the next.
  struct Blocks final : Workspace {
    explicit Blocks(std::size_t per_pair) : blocks{Block(per_pair), Block(per_pair)} {}
    Block blocks[2];
  };

  static std::uint64_t word(const Rows& rows, std::size_t row) { return static_cast<std::uint64_t>(rows.inputs[row]); }
  static std::uint64_t label(const Rows& rows, std::size_t row) { return static_cast<std::uint64_t>(rows.labels[row]); }

  /// Σ compute(block, pairs), after locate(row, i, block) for each pair: the i-th of its block.
  template <class Locate, class Compute>
  double for_pairs(const Rows& rows, Workspace& workspace, const Locate& locate, const Compute& compute) const {
    Block* next = &static_cast<Blocks&>(workspace).blocks[0];
    Block* ready = &static_cast<Blocks&>(workspace).blocks[1];
    double loss = 0;
    for (std::size_t at = 0, count = 0; at < rows.count || count > 0; std::swap(next, ready)) {
      const std::size_t coming = std::min(block_pairs, rows.count - at);
      for (std::size_t i = 0; i < coming; ++i) locate(at + i, i, *next);
      if (count > 0) {
        PairBlock pairs{count, width_, targets_, ready->centres, ready->outputs.data()};
        if (rows.scale) pairs.scale = rows.scale + (at - count);
        loss += compute(*ready, pairs);
      }
      at += coming;
      count = coming;
    }
    return loss;
  }

  /// The weights of pair `row`, with negatives from `key`.
  void point(const float* weights, const Rows& rows, std::size_t row, std::size_t i, std::uint64_t key, Block& block) const {
    const float* const outputs = weights + words_ * width_;
    block.centres[i] = weights + word(rows, row) * width_;
    ask_for(block.centres[i], width_);
    std::uint32_t* const targets = block.targets.data() + i * targets_;
    targets[0] = static_cast<std::uint32_t>(label(rows, row));
    for (std::size_t j = 1; j < targets_; ++j) targets[j] = noise_.draw(key, j - 1);
    for (std::size_t j = 0; j < targets_; ++j) {
      block.outputs[i * targets_ + j] = outputs + targets[j] * width_;
      ask_for(block.outputs[i * targets_ + j], width_);
    }
  }
  void point_centre(const GradientRow& row, std::size_t i, Block& block) const {
    block.centre_gradients[i] = row.out;
    block.centres_before[i] = row.before;
    ask_for(row.out, width_);
  }

  /// `row_of`: the GradientRow that accumulates the gradient of a row of the weights.
  template <class RowOf>
  double add_gradient(const float* weights, const Rows& rows, bool loss, Workspace& workspace, const RowOf& row_of) const {
    return for_pairs(
        rows, workspace,
        [&](std::size_t row, std::size_t i, Block& block) {
          point(weights, rows, row, i, rows.draws[row], block);
          point_centre(row_of(word(rows, row)), i, block);
          for (std::size_t j = i * targets_; j < (i + 1) * targets_; ++j) {
            const GradientRow output = row_of(words_ + block.targets[j]);
            block.output_gradients[j] = output.out;
            block.outputs_before[j] = output.before;
            ask_for(output.out, width_);
          }
        },
        [&](Block& block, PairBlock& pairs) {
          pairs.centre_gradients = block.centre_gradients;
          pairs.centres_before = block.centres_before;
          pairs.output_gradients = block.output_gradients.data();
          pairs.outputs_before = block.outputs_before.data();
          pairs.loss = loss;
          return kernels_.negative_sampling(pairs);
        });
  }
  /// The same, but keeps the outputs' rows as terms.
  void add_terms(const float* weights, const Rows& rows, GradientRows& gradient, Workspace& workspace) const {
    for_pairs(
        rows, workspace,
        [&](std::size_t row, std::size_t i, Block& block) {
          point(weights, rows, row, i, rows.draws[row], block);
          const GradientRow centre = gradient.row(word(rows, row));
          point_centre(centre, i, block);
          block.centre_copies[i] = gradient.source(centre);
          for (std::size_t j = i * targets_; j < (i + 1) * targets_; ++j) gradient.add_term(words_ + block.targets[j], centre);
          if (i == 0) block.factors = gradient.factors(targets_);
        },
        [&](Block& block, PairBlock& pairs) {
          pairs.centre_gradients = block.centre_gradients;
          pairs.centres_before = block.centres_before;
          pairs.factors = block.factors;
          pairs.centre_copies = block.centre_copies;
          pairs.loss = false;
          return kernels_.negative_sampling(pairs);
        });
  }

  bool is_best(const Block& block, std::size_t at) const {
    const std::uint32_t* const targets = block.targets.data() + at * targets_;
    const float* const scores = block.scores.data() + at * targets_;
    for (std::size_t j = 1; j < targets_; ++j)
      if (targets[j] != targets[0] && !(scores[0] > scores[j])) return false;
    return scores[0] == scores[0];
  }

  const std::size_t words_, width_, targets_;
  const Noise noise_;
  const Kernels& kernels_;
};

const Register<ModelEntry> entry({
    .name = "skipgram",
    .summary = "word vectors: skip-gram with negative sampling (word2vec); learns from data `text`",
    .parameters = {{.name = "dimension",
                    .type = ValueType::count,
                    .fallback = "100",
                    .meaning = "numbers in a word's vector",
                    .range = Range::between(1, 4096)},
                   {.name = "negatives",
                    .type = ValueType::count,
                    .fallback = "5",
                    .meaning = "words drawn beside each context, by count^0.75",
                    .range = Range::between(1, static_cast<double>(most_targets - 1))}},
    .make = [](const Parameters& parameters, const DataInfo& data, const ModelSetting& setting) -> std::unique_ptr<Model> {
      if (!data.vocabulary) throw std::invalid_argument("skipgram learns from pairs of words; use data: {kind: text, path: FILE}");
      if (setting.precision != Precision::fp32)
        throw std::invalid_argument("skipgram computes in fp32 alone; leave the precision out, or use another model");
      return std::make_unique<SkipGram>(data.vocabulary, static_cast<std::size_t>(parameters.count("dimension")),
                                        static_cast<std::size_t>(parameters.count("negatives")), setting.kernels);
    },
    .words = true,
});

}  // namespace
}  // namespace straggler::zoo::skipgram
