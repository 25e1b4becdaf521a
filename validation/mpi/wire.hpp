// Payloads as bytes: keys, bookkeeping and values, in the machine's own byte order (all ranks run the same program).
#pragma once
#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "models/compression/compressor.hpp"
#include "sim/base/huge_pages.hpp"
#include "sim/training/envelope.hpp"

namespace straggler {

/// resize(n) leaves new elements uninitialized.
using Bytes = std::vector<std::byte, Unfilled<std::byte>>;

/// A rank's values: numbers instead of an executor's promises.
class Values {
 public:
  /// Evaluated here if need be. Valid while the handle lives and until the next call.
  virtual std::span<const float> of(const Handle& handle) = 0;
  /// A name made by another rank.
  virtual Handle named(const Key& key) = 0;
  virtual void give(const Handle& handle, std::span<const float> values) = 0;
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

/// Appends plain values and vectors of floats, which are aligned to their size.
class Packer {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T value) { put_bytes(std::as_bytes(std::span(&value, 1))); }
  void put(const Key& key) { each(key.high, key.low); }
  void put(Time time) { put(time.ticks()); }
  template <class... T>
  void each(const T&... values) {
    (put(values), ...);
  }
  void put_floats(std::span<const float> values) {
    bytes_.resize((bytes_.size() + alignof(float) - 1) / alignof(float) * alignof(float), std::byte{0});
    put_bytes(std::as_bytes(values));
  }
  /// With its length.
  void put_block(std::span<const std::byte> block) {
    put(std::uint64_t{block.size()});
    put_bytes(block);
  }
  /// Of values without pointers.
  template <class List>
  void put_list(const List& values) {
    put_block(std::as_bytes(std::span(values.data(), values.size())));
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  Bytes take() { return std::move(bytes_); }

 private:
  void put_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  Bytes bytes_;
};

/// Reads the output of a Packer, in the same order. Throws std::logic_error if a message is too short.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  Key get_key() {
    const auto high = get<std::uint64_t>();
    return {high, get<std::uint64_t>()};
  }
  std::span<const float> get_floats(std::size_t count) {
    at_ = (at_ + alignof(float) - 1) / alignof(float) * alignof(float);
    return {reinterpret_cast<const float*>(next(count * sizeof(float)).data()), count};
  }
  template <class... T>
  void each(T&... values) {
    ((values = get<T>()), ...);
  }
  std::span<const std::byte> get_block() { return next(get<std::uint64_t>()); }
  template <class List>
  void get_list(List& values) {
    const std::span<const std::byte> block = get_block();
    values.resize(block.size() / sizeof values[0]);
    if (values.size() * sizeof values[0] != block.size()) fail();
    if (!block.empty()) std::memcpy(values.data(), block.data(), block.size());
  }
  /// The number of items that follow, each of at least so many bytes.
  std::uint64_t get_count(std::uint64_t least_bytes) {
    const auto count = get<std::uint64_t>();
    if (count > (bytes_.size() - at_) / least_bytes) fail();
    return count;
  }
  bool done() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> next(std::uint64_t count) {
    if (at_ > bytes_.size() || count > bytes_.size() - at_) fail();
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  [[noreturn]] static void fail() { throw std::logic_error("a message between ranks is truncated"); }
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

/// Takes off the number that ends a message. Throws as Unpacker does.
inline std::uint64_t take_last_number(Bytes& message) {
  const std::size_t before = message.size() - std::min(message.size(), sizeof(std::uint64_t));
  const auto number = Unpacker(std::span(message).subspan(before)).get<std::uint64_t>();
  message.resize(before);
  return number;
}

/// A payload's parts, with the values of its vectors: in the main one everything else, too. Empty ones at the end are left out.
std::vector<Bytes> pack(const Payload& payload, const Cut& cut, Values& values);
/// Throws std::logic_error if the parts have less or more than a payload.
Payload unpack(const Cut& cut, Values& values, std::span<const Bytes> parts);
/// Names alone: the unpacked payload refers to nodes whose values must still be given.
void pack_names(const Payload& payload, Packer& to);
Payload unpack_names(Values& values, Unpacker& from);
/// The vectors that go with it, its own first.
std::vector<Handle> vectors_in(const Payload& payload);
Fragment fragment_of(const Payload& payload);

}  // namespace straggler
