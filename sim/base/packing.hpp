// Messages between processes as bytes, in the machine's own byte order: all of them run the same program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/huge_pages.hpp"
#include "sim/base/key.hpp"

namespace straggler {

/// resize(n) leaves new elements uninitialized.
using Bytes = std::vector<std::byte, Unfilled<std::byte>>;

/// Appends plain values and vectors of floats, which are aligned to their size.
class Packer {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T value) { put_bytes(std::as_bytes(std::span(&value, 1))); }
  void put(const Key& key) { each(key.high, key.low); }
  /// A Time, which is of a room above.
  template <class T>
  requires requires(const T& time) { time.ticks(); }
  void put(T time) { put(time.ticks()); }
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
  void put_text(std::string_view text) { put_block(std::as_bytes(std::span(text))); }
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
  std::span<const std::byte> get_bytes(std::uint64_t count) { return next(count); }
  std::span<const std::byte> get_block() { return next(get<std::uint64_t>()); }
  template <class List>
  void get_list(List& values) {
    const std::span<const std::byte> block = get_block();
    values.resize(block.size() / sizeof values[0]);
    if (values.size() * sizeof values[0] != block.size()) fail();
    if (!block.empty()) std::memcpy(values.data(), block.data(), block.size());
  }
  std::string get_text() {
    const std::span<const std::byte> block = get_block();
    return {reinterpret_cast<const char*>(block.data()), block.size()};
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

}  // namespace straggler
