// A long vector as rows of which few are present and all others zero: the gradient of an embedding.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "models/kernels/kernels.hpp"

namespace straggler {

/// Partition of a model's parameters into rows of `floats` each, of which one sample's gradient touches few. 0: none.
struct GradientPattern {
  std::size_t floats = 0;
  /// The number of one sample's rows that are a factor times the same row of the weights (RowTerms); 0: none.
  std::size_t terms = 0;
};

/// The present rows in the order of arrival, with their row numbers: first the dense rows, then those kept as sums of terms, factor x
/// source, which need a tenth of the memory and of the time to write. A view of a buffer with space for all dense rows; terms use part of
/// that space, from `reserve` to `clear`:
///
///   [rows * stride] floats    written rows | sources | factors of the terms, their sources, the next of each, first of each row
///   [rows]                    row numbers, of sums from the end
///   [trailer]                 the count of each
class SparseRows {
 public:
  /// Floats of the buffer for a vector of `length` floats.
  static std::size_t buffer_floats(std::size_t length, std::size_t width) {
    return length / width * stride_of(width) + length / width + trailer;
  }
  /// The distance between rows: rows are aligned to cache lines if that costs little memory, so that no load or store crosses one.
  static std::size_t stride_of(std::size_t width) {
    constexpr std::size_t line = 16;
    const std::size_t padded = (width + line - 1) / line * line;
    return padded * 4 <= width * 5 ? padded : width;
  }

  SparseRows(float* buffer, std::size_t length, std::size_t width)
      : buffer_(buffer),
        width_(width),
        stride_(stride_of(width)),
        rows_(length / width),
        numbers_(rows_ * stride_),
        trailer_(numbers_ + rows_) {}
  void clear() {
    for (std::size_t i = 0; i < trailer; ++i) set(trailer_ + i, 0);
  }
  std::size_t count() const { return written() + sums(); }
  std::size_t width() const { return width_; }
  std::size_t row(std::size_t slot) const {
    const std::size_t out = written();
    return get(slot < out ? numbers_ + slot : trailer_ - 1 - (slot - out));
  }
  /// Dense rows: slots [0, written).
  std::size_t written() const { return get(trailer_); }
  /// The row of a dense slot.
  float* values(std::size_t slot) const { return buffer_ + slot * stride_; }
  /// The row of any slot. A sum is written into `room`, stride_of(width) floats.
  const float* values(const Kernels& kernels, std::size_t slot, float* room) const {
    const std::size_t out = written();
    if (slot < out) return values(slot);
    kernels.sum_terms(1, terms(), slot - out, room);
    return room;
  }
  /// Rows kept as sums: slots [written, count).
  std::size_t sums() const { return get(trailer_ + sum_count); }
  RowTerms terms() const { return terms_of(get(trailer_ + most_written), get(trailer_ + most_terms)); }

  /// Adds an absent row, uninitialized; returns its slot.
  std::size_t append(std::size_t row) {
    const std::size_t slot = written();
    set(numbers_ + slot, static_cast<std::uint32_t>(row));
    set(trailer_, static_cast<std::uint32_t>(slot + 1));
    return slot;
  }

 private:
  friend class GradientRows;
  static constexpr std::size_t sum_count = 1, most_written = 2, most_terms = 3, trailer = 4;

  /// Reserves space for terms besides this many dense rows and as many sources; false: it does not fit.
  bool reserve(std::size_t rows, std::size_t terms) {
    if (2 * rows * stride_ + 4 * terms > rows_ * stride_) return false;
    set(trailer_ + most_written, static_cast<std::uint32_t>(rows));
    set(trailer_ + most_terms, static_cast<std::uint32_t>(terms));
    return true;
  }
  RowTerms terms_of(std::size_t rows, std::size_t terms) const {
    float* const at = buffer_ + 2 * rows * stride_;
    const auto numbers = [&](std::size_t array) { return reinterpret_cast<std::uint32_t*>(at + array * terms); };
    return {width_, stride_, buffer_ + rows * stride_, at, numbers(1), numbers(2), numbers(3)};
  }
  // A float's bytes hold an integer's bits: they are never read as a float.
  std::uint32_t get(std::size_t at) const {
    std::uint32_t number = 0;
    std::memcpy(&number, buffer_ + at, sizeof number);
    return number;
  }
  void set(std::size_t at, std::uint32_t number) { std::memcpy(buffer_ + at, &number, sizeof number); }

  float* buffer_;
  std::size_t width_, stride_, rows_, numbers_, trailer_;
};

/// Maps each row to its slot in sparse rows. All absent between uses.
class RowSlots {
 public:
  static constexpr std::int32_t absent = -1;
  void resize(std::size_t rows) {
    if (slots_.size() < rows) slots_.resize(rows, absent);
  }
  std::int32_t& operator[](std::size_t row) { return slots_[row]; }
  void forget(const SparseRows& rows) {
    for (std::size_t slot = 0, count = rows.count(); slot < count; ++slot) slots_[rows.row(slot)] = absent;
  }

 private:
  std::vector<std::int32_t> slots_;
};

/// The destination of a row's gradient, and the base of its first addition: the same place, or zeros for a new row.
struct GradientRow {
  float* out;
  const float* before;
  std::uint32_t slot;
};

/// Accumulates a model's gradient row by row.
class GradientRows {
 public:
  /// `slots` is borrowed, all absent, with space for every row. `samples`: the total number expected, for rows in terms; 0: unknown, all
  /// rows are dense.
  GradientRows(SparseRows rows, RowSlots& slots, const GradientPattern& pattern, std::size_t samples)
      : rows_(rows), slots_(slots), zeros_(rows.width()) {
    rows_.clear();
    const std::size_t most = samples * pattern.terms;
    in_terms_ = most > 0 && rows_.reserve(samples, most);
    if (in_terms_) into_ = rows_.terms_of(samples, most);
  }
  ~GradientRows() {
    rows_.set(rows_.trailer_ + SparseRows::sum_count, sums_);
    slots_.forget(rows_);
  }
  GradientRows(const GradientRows&) = delete;
  GradientRows& operator=(const GradientRows&) = delete;

  /// The row's stable address. A new row is uninitialized: the caller writes it before anything reads it. The caller may request all rows
  /// of a block first and then write them in the same order.
  GradientRow row(std::size_t row) {
    std::int32_t& slot = slots_[row];
    const bool fresh = slot == RowSlots::absent;
    if (fresh) slot = static_cast<std::int32_t>(rows_.append(row));
    float* const at = rows_.values(static_cast<std::size_t>(slot));
    return {at, fresh ? zeros_.data() : at, static_cast<std::uint32_t>(slot)};
  }

  /// Whether rows can be given as terms. A row is either always given so, or always dense.
  bool in_terms() const { return in_terms_; }
  /// The values that terms of other rows scale, next to a dense row. The caller that adds the first such term fills them in.
  float* source(const GradientRow& of) { return into_.sources + of.slot * into_.stride; }
  /// The next term of `row`, after its earlier ones; the caller fills in its factor at the end of `factors`.
  void add_term(std::size_t row, const GradientRow& source) {
    const std::uint32_t term = terms_++;
    into_.source[term] = source.slot;
    into_.next[term] = RowTerms::none;
    std::int32_t& last = slots_[row];
    if (last == RowSlots::absent) {
      rows_.set(rows_.trailer_ - 1 - sums_, static_cast<std::uint32_t>(row));
      into_.first[sums_++] = term;
    } else {
      into_.next[last] = term;
    }
    last = static_cast<std::int32_t>(term);
  }
  /// The last `count` added terms, in their order.
  float* factors(std::size_t count) { return into_.factors + terms_ - count; }

 private:
  SparseRows rows_;
  RowSlots& slots_;
  const std::vector<float> zeros_;
  bool in_terms_ = false;
  RowTerms into_{};
  std::uint32_t sums_ = 0, terms_ = 0;
};

}  // namespace straggler
