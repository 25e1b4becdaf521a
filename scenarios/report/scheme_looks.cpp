#include "scenarios/report/scheme_looks.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "scenarios/report/picture.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {
namespace {

/// By the scheme's place among all schemes. A new scheme may shift it; only pages of one version must agree.
std::optional<std::size_t> look_of(const std::string& name) {
  const auto end = std::find_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_'; });
  const std::string first(name.begin(), end);
  const std::vector<SchemeEntry>& schemes = Registry<SchemeEntry>::instance().entries();
  const auto place = std::find_if(schemes.begin(), schemes.end(), [&](const SchemeEntry& each) { return each.name == first; });
  if (place == schemes.end()) return std::nullopt;
  return static_cast<std::size_t>(place - schemes.begin()) % series_colours;
}

}  // namespace

std::vector<std::size_t> scheme_looks(const std::vector<std::string>& names) {
  std::vector<std::optional<std::size_t>> wanted;
  for (const std::string& name : names) wanted.push_back(look_of(name));
  std::set<std::size_t> taken;
  std::vector<std::size_t> looks(names.size());
  const auto take = [&](std::size_t i, std::size_t first) {
    // Eight colours from the first one on, around; then the same ones with other dashes.
    const auto look = [first](std::size_t tries) { return tries / series_colours * series_colours + (first + tries) % series_colours; };
    std::size_t tries = 0;
    while (taken.contains(look(tries))) ++tries;
    taken.insert(look(tries));
    looks[i] = look(tries);
  };
  for (const bool schemes : {true, false})
    for (std::size_t i = 0; i < names.size(); ++i)
      if (wanted[i].has_value() == schemes) take(i, wanted[i].value_or(0));
  return looks;
}

}  // namespace straggler
