// A JSON file as nlohmann's parsers take it, byte by byte: only a piece of it is in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "models/formats/given_file.hpp"

namespace straggler {

/// The bytes of the file, piece by piece.
class JsonStream {
 public:
  explicit JsonStream(const GivenFile& file) : stream_(file) { more(); }
  bool ended() const { return at_ == end_; }
  char now() const { return *at_; }
  void next() {
    if (++at_ == end_) more();
  }
  /// A bracket: what is between two of them has a bound.
  void bracket() { since_ = 0; }

 private:
  static constexpr std::uintmax_t most_between = 16 << 20;  // bytes from one bracket to the next
  void more() {
    const std::string_view piece = stream_.next();
    at_ = piece.data();
    end_ = piece.data() + piece.size();
    since_ += piece.size();
    if (since_ > most_between) stream_.refuse("has 16 MiB without a list or a map in it, as no trace has; get the original file");
  }
  GivenStream stream_;
  const char *at_ = nullptr, *end_ = nullptr;
  std::uintmax_t since_ = 0;
};

struct JsonBytes {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;
  JsonStream* bytes = nullptr;  // null: the end
  char operator*() const { return bytes->now(); }
  JsonBytes& operator++() {
    bytes->next();
    return *this;
  }
  JsonBytes operator++(int) {
    JsonBytes before = *this;
    bytes->next();
    return before;
  }
  friend bool operator==(const JsonBytes& a, const JsonBytes& b) { return a.done() == b.done(); }
  friend bool operator!=(const JsonBytes& a, const JsonBytes& b) { return !(a == b); }
  bool done() const { return bytes == nullptr || bytes->ended(); }
};

}  // namespace straggler
