// How inputs are scaled: parameter `normalize` of data sets.
#pragma once
#include "sim/base/choice_table.hpp"

namespace straggler {

enum class Normalization {
  none,     // as in the file
  unit,     // to 0 … 1
  standard  // to mean 0 and standard deviation 1
};
inline constexpr ChoiceTable<Normalization> normalization("normalize", {{Normalization::none, "none"},
                                                                        {Normalization::unit, "unit"},
                                                                        {Normalization::standard, "standard"}});

}  // namespace straggler
