// Payloads as bytes: keys, bookkeeping and values.
#pragma once
#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/compression/compressor.hpp"
#include "models/executor/executor.hpp"
#include "sim/base/packing.hpp"
#include "sim/training/envelope.hpp"

namespace straggler {

/// A rank's values: numbers instead of an executor's promises.
class Values {
 public:
  /// Evaluated here if need be. Valid while the handle lives and until the next call.
  virtual std::span<const float> of(const Handle& handle) = 0;
  /// A name made by another rank.
  virtual Handle named(const Key& key) = 0;
  virtual void give(const Handle& handle, std::span<const float> values) = 0;
  /// Executor::hold, and what follows there.
  virtual std::shared_ptr<const float> hold(const Handle& handle) = 0;
  virtual LentFloats lend() = 0;
  virtual void give(const Handle& handle, LentFloats values) = 0;
  /// It has a value, or follows from some.
  virtual bool has(const Handle& handle) const = 0;
  /// Algebra::moved: a name, whose value follows on request.
  virtual Handle moved(const Handle& from, const Handle& move) = 0;
  /// FactorRules::product.
  virtual Handle product(const Handle& factors, const std::vector<double>& scalars) = 0;

 protected:
  ~Values() = default;
};

/// How the parameters of compressed vectors are written.
struct Codec {
  const CompressorEntry* entry = nullptr;
  std::vector<TensorInfo> tensors;
};

/// The floats of a vector: `main` of them, then running statistics; each of the two moves as a part of its own (Part). Fragments cut the
/// first `parameters` floats into equal pieces; the last fragment also has the rest.
struct Cut {
  constexpr Cut() = default;
  constexpr Cut(std::size_t all, std::size_t before_statistics) : Cut(all, before_statistics, all) {}
  constexpr Cut(std::size_t all, std::size_t before_statistics, std::size_t of_parameters)
      : length(all), main(before_statistics), parameters(of_parameters) {}
  std::size_t length = 0, main = 0, parameters = 0;
  const Codec* codec = nullptr;  // outlives it; null: nothing is compressed
  struct Stretch {
    Part::Kind kind;
    std::size_t begin, length;
  };
  /// In the order in which they move.
  boost::container::static_vector<Stretch, 2> parts() const {
    boost::container::static_vector<Stretch, 2> all;
    all.push_back({Part::Kind::main, 0, main});
    if (main < length) all.push_back({Part::Kind::statistics, main, length - main});
    return all;
  }
  /// Payloads may keep whole vectors out of their bytes: those of one part, from 4 KiB on, below which MPI copies messages anyway.
  bool apart() const { return main == length && length * sizeof(float) >= 4096; }
  WireBytes wire_bytes() const { return {main * sizeof(float), main * sizeof(float), (length - main) * sizeof(float), sizeof(float)}; }
  std::size_t begin_of(const Fragment& fragment) const { return parameters * fragment.index / fragment.count; }
  std::size_t end_of(const Fragment& fragment) const {
    return fragment.index + 1 == fragment.count ? length : parameters * (fragment.index + 1) / fragment.count;
  }
  /// The transmitted part of a payload that is this fragment.
  Cut of(const Fragment& fragment) const {
    if (fragment.whole()) return *this;
    const std::size_t floats = end_of(fragment) - begin_of(fragment);
    return {floats, floats, floats};
  }
};

/// Takes off the number that ends a message. Throws as Unpacker does.
inline std::uint64_t take_last_number(Bytes& message) {
  const std::size_t before = message.size() - std::min(message.size(), sizeof(std::uint64_t));
  const auto number = Unpacker(std::span(message).subspan(before)).get<std::uint64_t>();
  message.resize(before);
  return number;
}

/// A payload's parts, with the values of its vectors: in the main one everything else, too. Empty ones at the end are left out. Vectors
/// that may be apart go to `apart`, if there is one.
std::vector<Bytes> pack(const Payload& payload, const Cut& cut, Values& values, std::vector<std::shared_ptr<const float>>* apart = nullptr);
/// `apart`: of the cut's length, those that came apart. Throws std::logic_error if there is less or more than a payload.
Payload unpack(const Cut& cut, Values& values, std::span<const Bytes> parts, std::span<LentFloats> apart = {});
/// Names alone: the unpacked payload refers to nodes whose values must still be given.
void pack_names(const Payload& payload, Packer& to);
Payload unpack_names(Values& values, Unpacker& from);
/// The vectors that go with it, its own first.
std::vector<Handle> vectors_in(const Payload& payload);
Fragment fragment_of(const Payload& payload);

}  // namespace straggler
