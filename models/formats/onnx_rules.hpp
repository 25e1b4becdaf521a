// How the shape of an output follows from those of the inputs. Nothing: they do not fit, or a side is longer than any network's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "models/formats/onnx_graph.hpp"

namespace straggler::formats::onnx {

using Sides = std::vector<std::int64_t>;

/// Kinds of nodes, or names of values.
using Words = std::unordered_set<std::string_view>;
/// Those of a text, which must live on.
Words words_of(std::string_view text);

inline constexpr std::int64_t longest_side = 1'000'000'000;

double numbers_of(const Sides& sides);
/// The list's number at that place, else `otherwise`. `list` may be null.
std::int64_t item(const std::vector<std::int64_t>* list, std::size_t at, std::int64_t otherwise);
/// A negative axis counts from the end; nothing if there is no such axis among `sides` of them.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t sides);

/// To which both are stretched.
std::optional<Sides> common(const Sides& a, const Sides& b);
/// Of a convolution or a pool: [batch, channels, sides…]. `window`: its sides.
std::optional<Sides> slid(const Node& node, const Sides& in, const Sides& window, std::int64_t channels);
/// Of a transposed convolution.
std::optional<Sides> widened(const Node& node, const Sides& in, const Sides& weight);
/// Of DepthToSpace and SpaceToDepth.
std::optional<Sides> of_blocks(const Node& node, const Sides& in);
/// Places from + i step, i < count, of a Slice along a side.
struct Cut {
  std::int64_t from = 0, count = 0, step = 1;
};
std::optional<Cut> cut_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t side);
/// Of one input or two (`b` null: one), by letters as in "bi,oi->bo"; nothing for others, and for "...".
struct Einsum {
  Sides out;
  double products = 0;  // multiply-adds: one for each value of all letters; of one input none
};
std::optional<Einsum> einsum_of(const Node& node, const Sides& a, const Sides* b);
/// Of MatMul.
std::optional<Sides> product(Sides a, Sides b);

}  // namespace straggler::formats::onnx
