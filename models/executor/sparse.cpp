// Arithmetic on values with few nonzero rows. The results equal those of dense vectors bit for bit: an absent row reads as a row of zeros.
#include <algorithm>
#include <array>

#include "models/executor/arithmetic.hpp"

namespace straggler {

SparseRule Arithmetic::sparse_rule(const Formula& formula) const {
  const bool known = row_floats_ > 0 && formula.kind == Formula::Kind::elementwise;
  return known ? entry_of(formula.rule).sparse(formula.scalars) : SparseRule::densify;
}

bool Arithmetic::sparse(const Formula& formula, InputValues inputs) const {
  if (formula.kind == Formula::Kind::gradient) return row_floats_ > 0;
  return sparse_rule(formula) == SparseRule::rows &&
         std::all_of(inputs.begin(), inputs.end(), [](const InputValue& input) { return input.sparse; });
}

bool Arithmetic::descends_along_rows(const Formula& formula, InputValues inputs) const {
  return sparse_rule(formula) == SparseRule::descend && inputs.size() == 2 && !inputs[0].sparse && inputs[1].sparse;
}

std::size_t Arithmetic::densified(const Formula& formula, InputValues inputs) const {
  if (row_floats_ == 0 || descends_along_rows(formula, inputs)) return 0;
  if (formula.kind == Formula::Kind::elementwise && sparse(formula, inputs)) return 0;
  return static_cast<std::size_t>(std::count_if(inputs.begin(), inputs.end(), [](const InputValue& input) { return input.sparse; }));
}

void Arithmetic::write_dense(const SparseRows& rows, float* out) const {
  std::fill_n(out, length(), 0.0f);
  for (std::size_t slot = 0; slot < rows.written(); ++slot) std::copy_n(rows.values(slot), row_floats_, out + rows.row(slot) * row_floats_);
  std::vector<float> room(SparseRows::stride_of(row_floats_));
  for (std::size_t slot = rows.written(), all = rows.count(); slot < all; ++slot)
    std::copy_n(rows.values(kernels_, slot, room.data()), row_floats_, out + rows.row(slot) * row_floats_);
}

void Arithmetic::make_dense(float* value) const {
  const AlignedFloats copy = allocate_aligned(buffer_floats());
  std::copy_n(value, buffer_floats(), copy.get());
  write_dense(rows_of(copy.get()), value);
}

void Arithmetic::find_operands(InputValues inputs, Scratch& scratch) const {
  scratch.operands.clear();
  std::size_t used = 0;
  for (const InputValue& input : inputs) {
    if (input.sparse) {
      if (used == scratch.densified.size()) scratch.densified.push_back(allocate_aligned(length()));
      write_dense(rows_of(input.floats), scratch.densified[used].get());
      scratch.operands.push_back(scratch.densified[used++].get());
    } else {
      scratch.operands.push_back(input.floats);
    }
  }
}

void Arithmetic::combine_rows(const ElementwiseEntry& entry, const std::vector<SparseRows>& inputs, const std::vector<double>& scalars,
                              SparseRows out, bool in_place, Scratch& scratch) const {
  const std::size_t count = inputs.size();
  scratch.slots.resize(model_length_ / row_floats_);
  if (!in_place) out.clear();
  std::vector<std::int32_t> places(out.count() * count, RowSlots::absent);  // [rows of the result][inputs]: the slot there
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t slot = 0, slots = inputs[i].count(); slot < slots; ++slot) {
      const std::size_t row = inputs[i].row(slot);
      std::int32_t& place = scratch.slots[row];
      if (in_place && i == 0) {
        place = static_cast<std::int32_t>(slot);
      } else if (place == RowSlots::absent) {
        place = static_cast<std::int32_t>(out.append(row));
        places.resize(places.size() + count, RowSlots::absent);
      }
      places[static_cast<std::size_t>(place) * count + i] = static_cast<std::int32_t>(slot);
    }
  const std::vector<float> zeros(row_floats_);
  std::vector<float> room(count * SparseRows::stride_of(row_floats_));
  std::vector<const float*> operands(count);
  for (std::size_t slot = 0; slot < out.count(); ++slot) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t place = places[slot * count + i];
      operands[i] = place == RowSlots::absent
                        ? zeros.data()
                        : inputs[i].values(kernels_, static_cast<std::size_t>(place), room.data() + i * SparseRows::stride_of(row_floats_));
    }
    entry.apply(kernels_, {row_floats_}, operands, scalars, out.values(slot));
  }
  scratch.slots.forget(out);
}

void Arithmetic::descend_rows(const ElementwiseEntry& entry, const float* from, const SparseRows& direction,
                              const std::vector<double>& scalars, float* out) const {
  if (out != from) std::copy_n(from, length(), out);
  constexpr std::size_t at_once = 256;
  std::array<const float*, at_once> values;
  std::array<float*, at_once> rows;
  const RowTerms terms = direction.terms();
  const std::size_t written = direction.written(), all = direction.count();
  for (std::size_t first = 0, count = 0; first < all; first += count) {
    const bool out_in_full = first < written;
    count = std::min(at_once, (out_in_full ? written : all) - first);
    for (std::size_t i = 0; i < count; ++i) rows[i] = out + direction.row(first + i) * row_floats_;
    RowDirections along{count, row_floats_};
    if (out_in_full) {
      for (std::size_t i = 0; i < count; ++i) values[i] = direction.values(first + i);
      along.values = values.data();
    } else {
      along.terms = &terms;
      along.first = first - written;
    }
    entry.descend_rows(kernels_, along, scalars, rows.data());
  }
}

void Arithmetic::elementwise(const Formula& formula, InputValues inputs, float* out, Scratch& scratch) const {
  const ElementwiseEntry& entry = entry_of(formula.rule);
  if (sparse(formula, inputs)) {
    std::vector<SparseRows> rows;
    for (const InputValue& input : inputs) rows.push_back(rows_of(input.floats));
    return combine_rows(entry, rows, formula.scalars, rows_of(out), false, scratch);
  }
  if (descends_along_rows(formula, inputs)) return descend_rows(entry, inputs[0].floats, rows_of(inputs[1].floats), formula.scalars, out);
  find_operands(inputs, scratch);
  if (keep_first_statistics_)
    combine_keeping_statistics(entry, formula.scalars, out, scratch);
  else
    combine(entry, scratch.operands, formula.scalars, out);
}

}  // namespace straggler
