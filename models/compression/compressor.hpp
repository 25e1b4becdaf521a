// Compressors reduce the bytes of gradient messages. One file per compressor defines its byte count, its arithmetic, and its encoding in
// messages between real ranks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/kernels/precision.hpp"
#include "models/rules/tensor_info.hpp"
#include "sim/base/parameters.hpp"
#include "sim/lineage/draws.hpp"
#include "sim/lineage/factors.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// How an all-reduce of compressed gradients runs.
enum class CompressedAllReduce {
  sum,        // sums are as small as the summands: it stays an all-reduce
  all_gather  // each rank receives and decodes those of all ranks
};

/// Contents of a message: the number of parameters, and the offset of each tensor (empty: one tensor).
struct VectorLayout {
  std::uint64_t parameters = 0;
  std::span<const TensorInfo> tensors = {};
  std::uint64_t tensor_count() const { return tensors.empty() ? 1 : tensors.size(); }
};

/// How a summing all-reduce moves compressed vectors: as numbers that it adds elementwise. In 16 bits each rank divides its own numbers by
/// the number of ranks, and every sum is rounded, as an all-reduce in that type does (NCCL; the hooks of PyTorch's DDP). In 32 bits the sum
/// is divided.
struct SumCodec {
  Precision numbers = Precision::fp32;
  /// As in Compressor; a message is a row of numbers.
  std::vector<std::byte> (*encode)(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const float> q) = nullptr;
  void (*decode)(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const std::byte> message,
                 std::span<float> q) = nullptr;
};

/// Every compressor's rule takes the inputs (v) or (v, e): a gradient, and the residual of earlier messages. It returns q = C(v + e), the
/// value that arrives, with v's running statistics. rules::residual computes the new residual.
struct CompressorEntry {
  std::string name, summary, reference;
  std::string formula = {};  // of C, in one line
  std::string message = {};  // bytes per message, as a formula
  DeclaredParameters parameters = {};
  CompressedAllReduce all_reduce = CompressedAllReduce::sum;
  /// True: each value is compressed independently of the others, so pieces of a vector compress as the whole does.
  bool value_by_value = false;
  /// Null: gradients travel uncompressed, and the members below are unset.
  const Rule* rule = nullptr;
  /// Scalars of the rule, without the draw number.
  std::vector<double> (*scalars)(const Parameters& parameters) = nullptr;
  /// True: q does not preserve the magnitude of v. That is valid for gradients but not for weights. Null: q preserves it.
  bool (*size_is_lost)(const Parameters& parameters) = nullptr;
  /// A rule that draws, its `encode` and its `decode` get the draw number as an additional last scalar (draw_number).
  Draws draws = Draws::none;
  /// Bytes per message.
  std::uint64_t (*bytes)(const std::vector<double>& scalars, const VectorLayout& layout) = nullptr;
  /// Bytes that a message of q with zeros has beyond those, since the format of the paper has no room for a zero. Null: none.
  std::uint64_t (*for_zeros)(const VectorLayout& layout) = nullptr;
  /// Rules of a factoring compressor. All-reduces sum its factors; right_bytes counts the right ones. `encode` writes and `decode` reads P
  /// and Q, in a vector laid out as FactorRules defines. Null: it does not factor.
  const FactorRules* factors = nullptr;
  std::uint64_t (*right_bytes)(const std::vector<double>& scalars, const VectorLayout& layout) = nullptr;
  /// Codecs of a compressor whose all-reduces sum; two if it factors: for left and right factors. Null: it does not sum.
  const SumCodec* sums = nullptr;
  /// A server's answer of the same size, if it has the compressed gradients of all workers at the same weights: with these scalars (q_1, …,
  /// q_p; scalars of a message) -> a value that `encode` writes. Null: it answers weights.
  const Rule* (*vote)(const std::vector<double>& scalars) = nullptr;
  /// Writes q, layout.parameters floats, into exactly `bytes(scalars, layout)` bytes (and `for_zeros`), and reads the same bits back. Throw
  /// std::logic_error on a value that the rule cannot make, and on bytes that `encode` cannot write.
  std::vector<std::byte> (*encode)(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const float> q) = nullptr;
  void (*decode)(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const std::byte> message,
                 std::span<float> q) = nullptr;
};

/// Every compressor has both. e stays with the worker and is added to its next message.
Parameter error_feedback(bool by_default);
/// up: messages to a server or between workers; both: a server's answers, too.
Parameter compressed_direction();
/// The compressor that the parameters select.
bool compresses_answers(const Parameters& parameters);

/// The layout of [begin, end) of those tensors, relative to `begin`; the piece of a cut tensor is a vector.
std::vector<TensorInfo> tensors_within(std::span<const TensorInfo> tensors, std::size_t begin, std::size_t end);

/// The rule of every compressor on consecutive pieces, each compressed as a vector of its own; the result is zero before and after them.
/// Scalars: the number of pieces, m; the length of the whole vector that the bounds refer to; m + 1 ascending bounds; the compressor's
/// number, then its own scalars. In a vector of another length n the bounds are floor(n bound / whole).
extern const Rule compressed_pieces;
/// Identifies a compressor among scalars: below 2^53, the same in every build.
double number_of(const CompressorEntry& compressor);

/// Numbers of a SumCodec to floats and back.
std::vector<float> numbers_in(Precision numbers, std::span<const std::byte> message);
std::vector<std::byte> message_of(Precision numbers, std::span<const float> values);
/// For scalars 0 and 1 of rules::compressed_mean. Throws std::logic_error if that compressor does not sum.
const SumCodec& sum_codec(double compressor, double factor);
// A mean over this many ranks, in steps: scale each rank's own numbers; own ← sum + own; finish the total sum.
void share_numbers(Precision numbers, std::size_t ranks, std::span<float> values);
void add_numbers(Precision numbers, std::span<const float> sum, std::span<float> own);
void end_sum(Precision numbers, std::size_t ranks, std::span<float> sum);

}  // namespace straggler
