// Applies a compressor to pieces of a vector, each as a vector of its own; elsewhere the result is zero.
#include <algorithm>
#include <stdexcept>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/key.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

const Rule compressed_pieces{"compressed_pieces"};

double number_of(const CompressorEntry& compressor) {
  return static_cast<double>(Hasher().add("compressor").add(compressor.name).key().low >> 11);  // a double holds every integer of 53 bits
}

std::vector<TensorInfo> tensors_within(std::span<const TensorInfo> tensors, std::size_t begin, std::size_t end) {
  std::vector<TensorInfo> within;
  for (const TensorInfo& tensor : tensors) {
    std::size_t count = 1;
    for (const std::size_t size : tensor.shape) count *= size;
    const std::size_t first = std::max(tensor.offset, begin), last = std::min(tensor.offset + count, end);
    if (first >= last) continue;
    TensorInfo piece = tensor;
    piece.offset = first - begin;
    if (last - first < count) piece.shape = {last - first};
    within.push_back(std::move(piece));
  }
  return within;
}

namespace compression::pieces {
namespace {

const CompressorEntry& compressor_of(double number) {
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries())
    if (entry.rule && number_of(entry) == number) return entry;
  throw std::logic_error("pieces of a vector that were compressed by what is no compressor of this build");
}

/// Its scalars, read in order.
struct Pieces {
  explicit Pieces(const std::vector<double>& scalars)
      : count(static_cast<std::size_t>(scalars.at(0))),
        whole(static_cast<std::size_t>(scalars.at(1))),
        bounds(scalars.begin() + 2, scalars.begin() + 3 + static_cast<std::ptrdiff_t>(count)),
        compressor(scalars.at(3 + count)),
        own(scalars.begin() + 4 + static_cast<std::ptrdiff_t>(count), scalars.end()) {}
  std::size_t bound(std::size_t i, std::size_t n) const {
    const auto at = static_cast<std::size_t>(bounds[i]);
    return whole == n ? at : n * at / whole;
  }
  std::size_t count, whole;
  std::vector<double> bounds;
  double compressor;
  std::vector<double> own;
};

void apply(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
           float* out) {
  const Pieces pieces(scalars);
  const CompressorEntry& compressor = compressor_of(pieces.compressor);
  const ElementwiseEntry& rule = Registry<ElementwiseEntry>::instance().at(compressor.rule->name);
  std::fill_n(out, extent.n, 0.0f);
  for (std::size_t i = 0; i < pieces.count; ++i) {
    const std::size_t begin = pieces.bound(i, extent.n), end = pieces.bound(i + 1, extent.n);
    if (begin == end) continue;
    const std::vector<TensorInfo> tensors = tensors_within(extent.tensors, begin, end);
    Extent piece;
    piece.n = end - begin;
    piece.tensors = tensors;
    std::vector<const float*> from;
    for (const float* const input : inputs) from.push_back(input + begin);
    std::vector<double> own = pieces.own;
    if (compressor.draws != Draws::none && i > 0) own.back() = draw_number(static_cast<std::uint64_t>(own.back()), i);  // independent draws
    rule.apply(kernels, piece, from, own, out + begin);
  }
  std::copy_n(inputs[0] + extent.own, extent.registers, out + extent.own);
}

const Register<ElementwiseEntry> pieces_entry({.name = "compressed_pieces",
                                               .summary = "pieces of a gradient, each compressed alone; zero elsewhere",
                                               .parameters = {},
                                               .in_place = -1,
                                               .statistics = StatisticsRule::carry,
                                               .gradient = 0,
                                               .apply = apply});

}  // namespace
}  // namespace compression::pieces
}  // namespace straggler
