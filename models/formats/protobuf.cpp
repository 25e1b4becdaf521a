#include "models/formats/protobuf.hpp"

#include <fmt/format.h>

namespace straggler {

namespace {

/// False: it is cut off, or longer than 64 bits take.
bool take_varint(std::string_view bytes, std::size_t& at, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace

void WireReader::fail(const std::string& what) const { throw WireError(fmt::format("at byte {}: {}", start_ + at_, what)); }

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  if (!take_varint(all_, at_, value)) fail("a number is cut off, or longer than ten bytes");
  return value;
}

std::uint64_t WireReader::fixed(std::size_t width) {
  if (all_.size() - at_ < width) fail(fmt::format("{} bytes of a number are cut off", width));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(all_[at_ + i])) << (8 * i);
  at_ += width;
  return value;
}

std::uint32_t WireReader::next_of_bytes() const {
  std::size_t at = at_;
  std::uint64_t key = 0;
  return take_varint(all_, at, key) && (key & 7) == 2 ? static_cast<std::uint32_t>(key >> 3) : 0;
}

bool WireReader::next(WireField& field) {
  if (at_ == all_.size()) return false;
  const std::uint64_t key = varint();
  if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) fail(fmt::format("{} is no number of a field", key >> 3));
  field.number = static_cast<std::uint32_t>(key >> 3);
  field.bytes = {};
  field.value = 0;
  switch (key & 7) {
    case 0:
      field.type = WireField::Type::varint;
      field.value = varint();
      return true;
    case 1:
      field.type = WireField::Type::fixed64;
      field.value = fixed(8);
      return true;
    case 2: {
      field.type = WireField::Type::bytes;
      const std::uint64_t length = varint();
      if (length > all_.size() - at_)
        fail(fmt::format("field {} would have {} bytes, but {} are left", field.number, length, all_.size() - at_));
      field.bytes = all_.substr(at_, length);
      at_ += length;
      return true;
    }
    case 5:
      field.type = WireField::Type::fixed32;
      field.value = fixed(4);
      return true;
    default:
      fail(fmt::format("{} is no type of a field", key & 7));
  }
}

bool take_message(std::string_view& rest, std::string_view& message) {
  std::size_t at = 0;
  std::uint64_t length = 0;
  if (!take_varint(rest, at, length) || length > rest.size() - at) return false;
  message = rest.substr(at, length);
  rest.remove_prefix(at + length);
  return true;
}

void append_integers(const WireField& field, std::size_t most, std::vector<std::int64_t>& numbers) {
  if (field.type != WireField::Type::bytes) {
    if (numbers.size() < most) numbers.push_back(field.integer());
    return;
  }
  for (std::size_t at = 0; at < field.bytes.size() && numbers.size() < most;) {
    std::uint64_t value = 0;
    if (!take_varint(field.bytes, at, value)) throw WireError("a list of numbers is cut off");
    numbers.push_back(static_cast<std::int64_t>(value));
  }
}

}  // namespace straggler
