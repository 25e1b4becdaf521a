// Things dealt to parts as evenly as whole numbers allow: batches to workers, hosts to racks, bytes to shards.
#pragma once
#include <algorithm>

namespace straggler {

/// The first `larger` parts have `least` + 1 things each, the others `least`.
template <class Number>
struct EvenSplit {
  Number least = 0, larger = 0;

  /// `parts` is at least 1.
  static constexpr EvenSplit of(Number total, Number parts) { return {total / parts, total % parts}; }

  constexpr Number size(Number part) const { return least + (part < larger ? 1 : 0); }
  /// The first thing of a part; begin(parts) is the total.
  constexpr Number begin(Number part) const { return part * least + std::min(part, larger); }
  /// The part that has thing `at`, which is below the total.
  constexpr Number part_of(Number at) const {
    const Number in_larger = larger * (least + 1);
    return at < in_larger ? at / (least + 1) : larger + (at - in_larger) / least;
  }
};

}  // namespace straggler
