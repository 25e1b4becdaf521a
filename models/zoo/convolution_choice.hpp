// Parameter `convolution` of networks.
#pragma once
#include "models/zoo/model.hpp"
#include "sim/base/choice_table.hpp"

namespace straggler {

inline constexpr ChoiceTable<ConvolutionRule> convolution_choice("convolution", {{ConvolutionRule::automatic, "auto"},
                                                                                 {ConvolutionRule::direct, "direct"},
                                                                                 {ConvolutionRule::winograd, "winograd"}});

}  // namespace straggler
