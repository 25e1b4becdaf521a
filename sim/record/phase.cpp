#include "sim/record/phase.hpp"

namespace straggler {

namespace {

ByPhase<std::string> names_with(const char* ending) {
  ByPhase<std::string> names;
  for (const PhaseRow& row : phase_rows) names[row.phase] = std::string(row.name) + ending;
  return names;
}

}  // namespace

const std::string& seconds_column(Phase phase) {
  static const ByPhase<std::string> columns = names_with("_s");
  return columns[phase];
}

const std::string& share_key(Phase phase) {
  static const ByPhase<std::string> keys = names_with("_fraction");
  return keys[phase];
}

}  // namespace straggler
