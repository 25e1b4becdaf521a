// Why a run reaches an accuracy at a lower price, with less energy or with fewer bytes than another one: the two factors of each.
#pragma once
#include <string>

#include "scenarios/results/measures.hpp"

namespace straggler {

/// "because it sends 73 % fewer bytes a sample, although it needs 1.4 times as many samples". Bytes are samples by bytes a sample, prices
/// are time by price an hour, energies are time by power. Accuracy 0: of the whole runs. Empty: not both are known, or `row` is the time's.
std::string why_less(const MeasureRow& row, const RunResult& a, const RunResult& b, double accuracy);

}  // namespace straggler
