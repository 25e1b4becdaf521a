#include "scenarios/report/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "sim/base/readable.hpp"

namespace straggler {

std::string share_text(double share) {
  if (share == 0) return "0 %";
  return std::abs(share) < 0.01 ? fmt::format("{:.2g} %", 100 * share) : readable_share(share);
}

std::string bits_rate_text(double bits) {
  std::string text = readable_bytes(bits);  // "1.25 MB"
  text.back() = 'b';
  return text + "it/s";
}
std::string factor_text(double factor) { return fmt::format("{:.3g}x", factor); }
std::string count_text(double count) { return readable_count(static_cast<std::uint64_t>(count)); }

std::vector<std::string> tick_texts(NumberText text, const std::vector<double>& ticks) {
  std::vector<std::string> texts;
  for (const double tick : ticks) texts.push_back(text(tick));
  if (std::ranges::adjacent_find(texts) == texts.end()) return texts;
  const std::string_view unit = unit_of(text);
  const double factor = unit == "share" ? 100 : 1, step = factor * (ticks[1] - ticks[0]);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 12);
  const char* const name = unit == "share" ? " %" : unit == "seconds" ? " s" : unit == "bytes" ? " B" : "";
  for (std::size_t i = 0; i < ticks.size(); ++i) texts[i] = fmt::format("{:.{}f}{}", factor * ticks[i], decimals, name);
  return texts;
}

std::string_view unit_of(NumberText text) {
  static constexpr std::pair<NumberText, std::string_view> units[] = {
      {readable_seconds, "seconds"}, {readable_bytes, "bytes"}, {share_text, "share"},       {readable_score, "score"},
      {factor_text, "factor"},       {count_text, "count"},     {bits_rate_text, "bits/s"},  {readable_rate, "bytes/s"},
      {readable_share, "share"},     {readable_price, "price"}, {readable_joules, "joules"}, {readable_watts, "watts"},
  };
  for (const auto& [known, unit] : units)
    if (known == text) return unit;
  return "number";
}

}  // namespace straggler
