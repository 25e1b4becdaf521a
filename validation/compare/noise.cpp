#include "validation/compare/noise.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

namespace straggler {

namespace {

std::string key_of(const ClaimRow& row) {
  std::string key = row.rank ? std::to_string(*row.rank) + "\n" : "\n";
  for (const PlacedSet& set : row.sets) key += set.text + "\n";
  return key;
}

/// Standard deviation of log(measured) among rows with equal settings; none: no two rows are equal.
std::optional<double> pooled_deviation(const std::vector<ClaimRow>& rows) {
  std::map<std::string, std::vector<double>> groups;
  for (const ClaimRow& row : rows) groups[key_of(row)].push_back(std::log(row.measured));
  double squares = 0;
  std::size_t degrees = 0;
  for (const auto& [key, logs] : groups) {
    double mean = 0;
    for (const double each : logs) mean += each / static_cast<double>(logs.size());
    for (const double each : logs) squares += (each - mean) * (each - mean);
    degrees += logs.size() - 1;
  }
  return degrees > 0 ? std::optional(std::sqrt(squares / static_cast<double>(degrees))) : std::nullopt;
}

void normalize_weights(std::vector<ClaimRow>& rows) {
  double sum = 0;
  std::size_t count = 0;
  for (const ClaimRow& row : rows) {
    if (row.use != RowUse::fitted) continue;
    sum += row.weight;
    ++count;
  }
  if (!(sum > 0)) return;
  for (ClaimRow& row : rows) row.weight *= static_cast<double>(count) / sum;
}

}  // namespace

void add_noise(std::vector<ClaimRow>& rows, const std::vector<std::optional<double>>& deviations, const std::vector<double>& repeats) {
  const bool given = std::all_of(deviations.begin(), deviations.end(), [](const auto& each) { return each.has_value(); });
  const std::optional<double> pooled = given ? std::nullopt : pooled_deviation(rows);
  std::vector<std::optional<double>> own(rows.size());  // of the measured value itself
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const std::optional<double> single = given ? deviations[i] : pooled) own[i] = *single / std::sqrt(repeats[i]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ClaimRow& row = rows[i];
    row.noise = own[i];
    if (row.relative_to && own[i]) row.noise = std::sqrt(*own[i] * *own[i] + *own[*row.relative_to] * *own[*row.relative_to]);
    row.weight = given ? 1 / (*row.noise * *row.noise) : repeats[i];
  }
  normalize_weights(rows);
}

std::optional<double> noise_floor(const std::vector<ClaimRow>& rows, RowUse use) {
  double sum = 0;
  std::size_t count = 0;
  for (const ClaimRow& row : rows) {
    if (row.use != use) continue;
    if (!row.noise) return std::nullopt;
    sum += *row.noise * std::sqrt(2 / std::numbers::pi);
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

}  // namespace straggler
