// What a setting of a sweep was bound by.
#pragma once
#include <string>

#include "scenarios/sweep/derived_scalars.hpp"

namespace straggler {

/// bound_words() of the means over its runs, with the busiest link of all of them. Empty: not known.
std::string bound_words(const SweptSetting& setting);
/// Its first words: "computing", "slow workers", "bandwidth".
std::string bound_word(const SweptSetting& setting);

}  // namespace straggler
