// From measured times to the devices and links of a scenario.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "validation/calibrate/measured.hpp"

namespace straggler {

struct Calibration {
  std::string found;                  // kind of the file
  std::string entries;                // YAML: `devices:` or `network:`
  std::string table;                  // measured and predicted times, and their errors
  std::vector<std::string> warnings;  // possible mistakes in the file
};

/// Throws ScenarioErrors: too few sizes, times that do not grow with them. `file` names the table in messages.
Calibration calibrate(const MessageTimes& times, const std::filesystem::path& file);
Calibration calibrate(const BatchTimes& times);

/// The entries with the table and the source as comments: pastes into a scenario.
std::string calibration_yaml(const Calibration& calibration, const std::filesystem::path& file);
/// The first words of that text.
inline constexpr const char* calibration_mark = "# Calibrated by straggler";

}  // namespace straggler
