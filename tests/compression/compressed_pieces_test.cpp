// The rule of compressors on pieces of a vector: each is compressed as a vector of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compressed_pieces_test {

namespace {

using Floats = std::vector<float>;

Floats apply(std::string_view rule, const Extent& extent, const std::vector<Floats>& inputs, const std::vector<double>& scalars) {
  std::vector<const float*> all;
  for (const Floats& input : inputs) all.push_back(input.data());
  Floats out(inputs.front().size(), 7.0f);
  Registry<ElementwiseEntry>::instance().at(rule).apply(select_kernels("auto"), extent, all, scalars, out.data());
  return out;
}

std::vector<double> scalars_of(const CompressorEntry& entry) {
  std::vector<double> scalars = entry.scalars(complete(entry.parameters, {}));
  if (entry.draws != Draws::none) scalars.push_back(draw_number(1, Rank{2}, 3));
  return scalars;
}

std::vector<double> joined(std::vector<double> a, double number, const std::vector<double>& b) {
  a.push_back(number);
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("every compressor: pieces are compressed each as a vector of its own, and nothing is elsewhere") {
  std::mt19937 chance(1);
  std::normal_distribution<float> draw(0, 1);
  const std::size_t n = 1000;
  Floats v(n), e(n);
  for (float& x : v) x = draw(chance);
  for (float& x : e) x = draw(chance);
  // Two tensors, of which the second is cut: pieces 100 … 400 … 470 of n, as they are and as shares of a vector of 100.
  const std::vector<TensorInfo> tensors = {{"a", {10, 30}, 0}, {"b", {70, 10}, 300}};
  Extent extent;
  extent.n = n;
  extent.tensors = tensors;
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries()) {
    if (!entry.rule) continue;
    CAPTURE(entry.name);
    const std::vector<double> own = scalars_of(entry);
    for (const bool feedback : {false, true}) {
      Floats expected(n);
      for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{100, 400}, {400, 470}}) {
        const std::vector<TensorInfo> within = tensors_within(tensors, begin, end);
        Extent piece;
        piece.n = end - begin;
        piece.tensors = within;
        const auto cut = [&, first = begin, last = end](const Floats& all) {
          return Floats(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last));
        };
        std::vector<double> scalars = own;  // each piece after the first has a draw of its own
        if (entry.draws != Draws::none && begin == 400) scalars.back() = draw_number(static_cast<std::uint64_t>(own.back()), 1);
        const std::vector<Floats> given = feedback ? std::vector<Floats>{cut(v), cut(e)} : std::vector<Floats>{cut(v)};
        const Floats q = apply(entry.rule->name, piece, given, scalars);
        std::ranges::copy(q, expected.begin() + static_cast<std::ptrdiff_t>(begin));
      }
      const std::vector<Floats> inputs = feedback ? std::vector<Floats>{v, e} : std::vector<Floats>{v};
      CHECK(apply(compressed_pieces.name, extent, inputs, joined({2, 1000, 100, 400, 470}, number_of(entry), own)) == expected);
      CHECK(apply(compressed_pieces.name, extent, inputs, joined({2, 100, 10, 40, 47}, number_of(entry), own)) == expected);
    }
  }
  CHECK_THROWS_AS(apply(compressed_pieces.name, extent, {v}, {1, 1, 0, 1, 12345, 0.5}), std::logic_error);
}

TEST_CASE("fragments of a vector cut it at floor(n index / count)") {
  Floats v(10, 1.0f);
  Extent extent;
  extent.n = v.size();
  const CompressorEntry& top_k = Registry<CompressorEntry>::instance().at("top_k");
  for (std::size_t index = 0; index < 3; ++index) {
    const auto first = static_cast<double>(index);
    const Floats q = apply(compressed_pieces.name, extent, {v}, {1, 3, first, first + 1, number_of(top_k), 1.0});
    for (std::size_t i = 0; i < v.size(); ++i) CHECK(q[i] == (i >= 10 * index / 3 && i < 10 * (index + 1) / 3 ? 1.0f : 0.0f));
  }
}

TEST_CASE("of tensors that a piece cuts, the parts are vectors; those that it holds keep their shapes") {
  const std::vector<TensorInfo> tensors = {{"a", {2, 3}, 0}, {"b", {4}, 6}, {"c", {2, 5}, 10}};
  const std::vector<TensorInfo> within = tensors_within(tensors, 4, 20);
  REQUIRE(within.size() == 3);
  CHECK(within[0].shape == std::vector<std::size_t>{2});
  CHECK(within[0].offset == 0);
  CHECK(within[1].shape == std::vector<std::size_t>{4});
  CHECK(within[1].offset == 2);
  CHECK(within[2].shape == std::vector<std::size_t>{2, 5});
  CHECK(within[2].offset == 6);
  CHECK(tensors_within(tensors, 6, 10).size() == 1);
  CHECK(tensors_within({}, 0, 5).empty());
}

}  // namespace straggler::compressed_pieces_test
