// A long vector seen as rows of which few are present and all others zero: the gradient of an embedding.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace straggler {

/// How a model's parameters fall into rows of `floats` each, of which the gradient of one sample touches few. 0: they do not.
struct GradientPattern {
  std::size_t floats = 0;
};

/// The rows that are present, in the order in which they came, and the number of each. A view of a buffer that has room for all rows:
/// [rows * stride] floats, then [rows] row numbers, then the count.
class SparseRows {
 public:
  /// Floats of the buffer for a vector of `length` floats.
  static std::size_t buffer_floats(std::size_t length, std::size_t width) { return length / width * stride_of(width) + length / width + 1; }

  SparseRows(float* buffer, std::size_t length, std::size_t width)
      : buffer_(buffer), width_(width), stride_(stride_of(width)), numbers_(length / width * stride_), count_(numbers_ + length / width) {}
  void clear() { set(count_, 0); }
  std::size_t count() const { return get(count_); }
  std::size_t width() const { return width_; }
  float* values(std::size_t slot) const { return buffer_ + slot * stride_; }
  std::size_t row(std::size_t slot) const { return get(numbers_ + slot); }
  /// A row that was absent, not initialized; the slot that it got.
  std::size_t append(std::size_t row) {
    const std::size_t slot = count();
    set(numbers_ + slot, static_cast<std::uint32_t>(row));
    set(count_, static_cast<std::uint32_t>(slot + 1));
    return slot;
  }

 private:
  // A float's bytes hold a whole number as they are: it is never looked at as a float.
  std::uint32_t get(std::size_t at) const {
    std::uint32_t number = 0;
    std::memcpy(&number, buffer_ + at, sizeof number);
    return number;
  }
  void set(std::size_t at, std::uint32_t number) { std::memcpy(buffer_ + at, &number, sizeof number); }

  /// Rows begin at cache lines, so that no load or store crosses one, where that costs little memory.
  static std::size_t stride_of(std::size_t width) {
    constexpr std::size_t line = 16;
    const std::size_t padded = (width + line - 1) / line * line;
    return padded * 4 <= width * 5 ? padded : width;
  }

  float* buffer_;
  std::size_t width_, stride_, numbers_, count_;
};

/// In which slot of sparse rows each row lies. All absent between uses.
class RowSlots {
 public:
  static constexpr std::int32_t absent = -1;
  void resize(std::size_t rows) {
    if (slots_.size() < rows) slots_.resize(rows, absent);
  }
  std::int32_t& operator[](std::size_t row) { return slots_[row]; }
  void forget(const SparseRows& rows) {
    for (std::size_t slot = 0; slot < rows.count(); ++slot) slots_[rows.row(slot)] = absent;
  }

 private:
  std::vector<std::int32_t> slots_;
};

/// Where the gradient of a row is written, and what the first of it is added to: the same place, or zeros for a row that is new.
struct GradientRow {
  float* out;
  const float* before;
};

/// What a model adds its gradient to, row by row.
class GradientRows {
 public:
  /// `slots` is borrowed, all absent, with room for every row.
  GradientRows(SparseRows rows, RowSlots& slots) : rows_(rows), slots_(slots), zeros_(rows.width()) { rows_.clear(); }
  ~GradientRows() { slots_.forget(rows_); }
  GradientRows(const GradientRows&) = delete;
  GradientRows& operator=(const GradientRows&) = delete;

  /// Where the row lies, and stays. A new one holds nothing yet: who asks for it writes it, before anything reads it. That the rows of a
  /// block are all asked for first and then written in the order of asking is allowed.
  GradientRow row(std::size_t row) {
    std::int32_t& slot = slots_[row];
    const bool fresh = slot == RowSlots::absent;
    if (fresh) slot = static_cast<std::int32_t>(rows_.append(row));
    float* const at = rows_.values(static_cast<std::size_t>(slot));
    return {at, fresh ? zeros_.data() : at};
  }

 private:
  SparseRows rows_;
  RowSlots& slots_;
  const std::vector<float> zeros_;
};

}  // namespace straggler
