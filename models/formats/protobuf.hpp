// Messages in protobuf's wire format (protobuf.dev/programming-guides/encoding): fields one after the other, each with its number and a
// value that tells its own length. Nothing is copied, and nothing recurses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// what(): "at byte 17: what is wrong".
struct WireError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct WireField {
  enum class Type { varint, fixed64, bytes, fixed32 };
  std::uint32_t number = 0;
  Type type = Type::varint;
  std::uint64_t value = 0;  // of varint, fixed64, fixed32
  std::string_view bytes;   // of bytes: text, a message inside, or packed numbers

  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

class WireReader {
 public:
  /// `start`: place of the message in its file, for errors.
  explicit WireReader(std::string_view message, std::size_t start = 0) : all_(message), start_(start) {}
  /// The next field; false at the end. Throws WireError where the message is cut off or damaged.
  bool next(WireField& field);
  /// Place in the file of bytes that lie within this message.
  std::size_t place(std::string_view within) const { return start_ + static_cast<std::size_t>(within.data() - all_.data()); }
  /// The number of the next field where it has bytes, without passing it; 0: it has none, or there is no field.
  std::uint32_t next_of_bytes() const;

 private:
  std::uint64_t varint();
  std::uint64_t fixed(std::size_t width);
  [[noreturn]] void fail(const std::string& what) const;

  std::string_view all_;
  std::size_t start_, at_ = 0;
};

/// Takes a message with its length in front of it off `rest`, as files of many messages have them; false: `rest` does not hold one whole.
bool take_message(std::string_view& rest, std::string_view& message);

/// Appends the whole numbers of a repeated field, packed or single, until `numbers` has `most`; the others are passed over. Throws
/// WireError.
void append_integers(const WireField& field, std::size_t most, std::vector<std::int64_t>& numbers);

}  // namespace straggler
