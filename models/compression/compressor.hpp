// Compressors: what a worker sends of a gradient where its message is made smaller. One file each: its bytes, its arithmetic, and how the
// value is written into a message between real ranks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/kernels/precision.hpp"
#include "models/zoo/model.hpp"
#include "sim/base/parameters.hpp"
#include "sim/lineage/draws.hpp"
#include "sim/lineage/factors.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

/// What an all-reduce of compressed gradients becomes.
enum class CompressedAllReduce {
  sum,        // sums of them are as small as they are: it stays an all-reduce
  all_gather  // each rank gets those of all others and decodes them
};

/// What a message is made of: the number of parameters, and where each tensor lies among them (none: they are one tensor).
struct VectorLayout {
  std::uint64_t parameters = 0;
  std::span<const TensorInfo> tensors = {};
  std::uint64_t tensor_count() const { return tensors.empty() ? 1 : tensors.size(); }
};

/// How an all-reduce that sums moves compressed vectors: as numbers that it adds up one by one. In 16 bits each rank divides its own numbers
/// by how many ranks there are, and every sum is rounded, as an all-reduce in that type does (NCCL; the hooks of PyTorch's DDP). In 32 bits
/// the sum is divided.
struct SumCodec {
  Precision numbers = Precision::fp32;
  /// As those of a compressor; a message is a row of numbers.
  std::vector<std::byte> (*encode)(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const float> q) = nullptr;
  void (*decode)(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const std::byte> message,
                 std::span<float> q) = nullptr;
};

/// The rule of every compressor takes the inputs (v) or (v, e): a gradient, and what earlier messages have left out of it. It makes
/// q = C(v + e), the value that arrives, with v's running statistics. The rest is rules::residual.
struct CompressorEntry {
  std::string name, summary, reference;
  std::string formula = {};  // of C, in one line
  std::string message = {};  // the bytes of a message, as a formula
  std::vector<Parameter> parameters = {};
  CompressedAllReduce all_reduce = CompressedAllReduce::sum;
  /// What it makes of a value does not depend on others: pieces of a vector are compressed as the whole is.
  bool value_by_value = false;
  /// Null: gradients travel as they are, and what follows is not there either.
  const Rule* rule = nullptr;
  /// Scalars of the rule, without a number that is drawn.
  std::vector<double> (*scalars)(const Parameters& parameters) = nullptr;
  /// True: q does not tell how large v is. Gradients may do without, weights may not. Null: it does.
  bool (*size_is_lost)(const Parameters& parameters) = nullptr;
  /// Where something is drawn, the rule, `encode` and `decode` get the number of the draw as one more scalar, the last (draw_number).
  Draws draws = Draws::none;
  /// Bytes of a message.
  std::uint64_t (*bytes)(const std::vector<double>& scalars, const VectorLayout& layout) = nullptr;
  /// Of a compressor that factors: its rules. All-reduces add up its factors; second_bytes are those of the right ones. What `encode`
  /// writes and `decode` reads is P and Q, in a vector as FactorRules have it. Null: it does not factor.
  const FactorRules* factors = nullptr;
  std::uint64_t (*second_bytes)(const std::vector<double>& scalars, const VectorLayout& layout) = nullptr;
  /// Of one whose all-reduces sum: how; two, those of left and right factors, if it factors. Null: it does not sum.
  const SumCodec* sums = nullptr;
  /// What a server may answer, in as many bytes, where it has the compressed gradients of all workers at the same weights: with these
  /// scalars (q_1, …, q_p; scalars of a message) -> a value that `encode` writes. Null: it answers weights.
  const Rule* (*vote)(const std::vector<double>& scalars) = nullptr;
  /// Writes q, layout.parameters floats, into exactly `bytes(scalars, layout)` bytes, and reads it from them, to the same bits. Throw
  /// std::logic_error on a value that the rule does not make, and on bytes that `encode` does not write.
  std::vector<std::byte> (*encode)(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const float> q) = nullptr;
  void (*decode)(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const std::byte> message,
                 std::span<float> q) = nullptr;
};

/// Every compressor has both. e stays with the worker and is added to what it sends next.
Parameter error_feedback(bool by_default);
/// up: messages to a server or to each other; both: a server's answers, too.
Parameter compressed_direction();
/// What the parameters say.
bool compresses_answers(const Parameters& parameters);

/// What lies in [begin, end) of those tensors, from `begin` on; of a tensor that is cut, the piece is a vector.
std::vector<TensorInfo> tensors_within(std::span<const TensorInfo> tensors, std::size_t begin, std::size_t end);

/// The rule of every compressor on pieces that follow one another, each compressed as a vector of its own; the result is zero before and
/// behind them. Scalars: how many pieces, m; how long the whole vector is that their bounds are given for; m + 1 ascending bounds; the
/// compressor's number, then its own scalars. A vector of another length n has its bounds at floor(n bound / whole).
extern const Rule compressed_pieces;
/// A number that names a compressor among scalars: below 2^53, the same in every build.
double number_of(const CompressorEntry& compressor);

/// Numbers of a SumCodec, as floats, and back.
std::vector<float> numbers_in(Precision numbers, std::span<const std::byte> message);
std::vector<std::byte> message_of(Precision numbers, std::span<const float> values);
/// Of scalars 0 and 1 of rules::compressed_mean. Throws std::logic_error if that compressor does not sum.
const SumCodec& sum_codec(double compressor, double factor);
// A mean over this many ranks, in steps: each rank's own numbers before; own ← sum + own; and the sum of all.
void share_numbers(Precision numbers, std::size_t ranks, std::span<float> values);
void add_numbers(Precision numbers, std::span<const float> sum, std::span<float> own);
void end_sum(Precision numbers, std::size_t ranks, std::span<float> sum);

}  // namespace straggler
