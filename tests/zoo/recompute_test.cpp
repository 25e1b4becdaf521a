// What backward keeps, against the formulas of Korthikanti et al. (2022), section 4: a layer of a transformer keeps s b h (34 + 5 a s / h)
// bytes in 16 bits, without the products of attention 34 s b h, and a recomputed one its input, 2 s b h. And against published
// measurements of BERT-base.
#include <doctest/doctest.h>

#include "models/zoo/architecture_bert.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/recompute.hpp"

namespace recompute_test {

using namespace straggler;

namespace {

constexpr double h = 768, a = 12;

CostTable bert_of(std::size_t layers, std::size_t tokens) {
  return cost_table(bert({.layers = layers, .features = 768, .heads = 12}, tokens));
}

/// Bytes by which the last of `layers` raises what is kept.
double of_a_layer(std::size_t layers, std::size_t tokens, Recompute recompute, double number_bytes) {
  return kept_bytes(bert_of(layers, tokens), recompute, number_bytes) - kept_bytes(bert_of(layers - 1, tokens), recompute, number_bytes);
}

}  // namespace

TEST_CASE("a layer of BERT keeps what the paper counts, whatever is recomputed") {
  for (const std::size_t tokens : {64U, 128U, 512U}) {
    CAPTURE(tokens);
    const auto s = static_cast<double>(tokens);
    CHECK(of_a_layer(12, tokens, Recompute::none, 2) == doctest::Approx(s * h * (34 + 5 * a * s / h)).epsilon(1e-12));
    CHECK(of_a_layer(12, tokens, Recompute::attention, 2) == doctest::Approx(34 * s * h).epsilon(1e-12));
    CHECK(of_a_layer(12, tokens, Recompute::blocks, 2) == doctest::Approx(2 * s * h).epsilon(1e-12));
    // In FP32 numbers have twice as many bytes, and dropout's masks, two of s b h and one of a s^2 b, as many.
    CHECK(of_a_layer(12, tokens, Recompute::none, 4) == doctest::Approx(s * h * (66 + 9 * a * s / h)).epsilon(1e-12));
    // One layer's products, and one layer, are there while they are computed again.
    const double products = 5 * a * s * s, layer = s * h * (34 + 5 * a * s / h);
    const double all = kept_bytes(bert_of(12, tokens), Recompute::none, 2);
    CHECK(kept_bytes(bert_of(12, tokens), Recompute::attention, 2) == doctest::Approx(all - 11 * products).epsilon(1e-12));
    // The embeddings keep what the first layer reads; of the last one's output the pooler reads the first place alone.
    CHECK(kept_bytes(bert_of(12, tokens), Recompute::blocks, 2) ==
          doctest::Approx(all - 11 * layer + 12 * 2 * s * h - 2 * h).epsilon(1e-12));
  }
}

TEST_CASE("recomputing blocks is a forward pass of them; recomputing attention, of its products") {
  const double s = 128;
  const CostTable table = bert_of(12, 128);
  const double products = 12 * 4 * s * s * h, all = table.forward_flops();
  CHECK(recomputed_share(table, Recompute::none) == 0);
  CHECK(recomputed_share(table, Recompute::attention) == doctest::Approx(products / all).epsilon(1e-12));
  CHECK(recomputed_share(table, Recompute::blocks) == doctest::Approx((all - 2 * h * h) / all).epsilon(1e-12));  // all but the pooler
  const std::vector<LayerRange> blocks = block_ranges(table);
  REQUIRE(blocks.size() == 12);
  for (const LayerRange& block : blocks) CHECK(block.end - block.begin == 10);
  const std::vector<double> again = recomputed_flops(table, Recompute::blocks);
  for (std::size_t i = 0; i < again.size(); ++i)
    CHECK((again[i] > 0) ==
          (table.layers[i].name.ends_with(".output.LayerNorm") && !table.layers[i].name.ends_with(".attention.output.LayerNorm")));
}

TEST_CASE("BERT-base in FP32: each layer beside Hugging Face's measurement") {
  // Training of bert-base-uncased with 4, 8 and 12 layers, batch 8, 512 tokens, peak by nvidia-smi: 4,103, 5,759 and 7,415 MiB
  // (huggingface/notebooks, transformers_doc: "How to benchmark models with Transformers", 2020). Weights are in it, gradients are not:
  // they come where activations have gone.
  const double measured = (7'415 - 4'103) / 8.0 * 1048576;
  const double weights = 4.0 * static_cast<double>(bert_of(12, 512).parameters() - bert_of(11, 512).parameters());
  const double ours = 8 * of_a_layer(12, 512, Recompute::none, 4) + weights;
  CHECK(ours == doctest::Approx(measured).epsilon(0.15));
  CHECK(ours / measured == doctest::Approx(1.065).epsilon(0.001));  // docs/model.md
}

TEST_CASE("BERT-base in 16 bits: a sample beside the measurement of the change that gave it fused attention") {
  // Peaks of torch.cuda.max_memory_allocated on an A100, in MB, eager attention, BertLMHeadModel
  // (https://gist.github.com/hackyon/2bfcfb59666fab23655f6e62bc0752ba, for huggingface/transformers #28802, 2024).
  struct Case {
    std::size_t tokens;
    double at_8, at_16, ratio;  // that docs/model.md says
  };
  for (const Case& each : {Case{256, 1594.295, 2874.426, 1.003}, Case{512, 3629.401, 6964.659, 0.996}}) {
    CAPTURE(each.tokens);
    const auto s = static_cast<double>(each.tokens);
    const double measured = (each.at_16 - each.at_8) / 8 * 1e6;
    // Its head, which the built-in BERT lacks: a linear layer, GELU and norm of width h, the scores of all words, and, where memory is
    // fullest, the scores' gradient.
    const double head = 3 * 2 * s * h + 2 * 2 * s * 30'522;
    const double ours = kept_bytes(bert_of(12, each.tokens), Recompute::none, 2) + head;
    CHECK(ours == doctest::Approx(measured).epsilon(0.15));
    CHECK(ours / measured == doctest::Approx(each.ratio).epsilon(0.001));
  }
}

}  // namespace recompute_test
