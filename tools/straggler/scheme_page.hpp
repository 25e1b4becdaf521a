// All schemes as a page, generated from their entries.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/training/scheme.hpp"

namespace straggler::cli {

/// "all_reduce or server", where it depends on the parameters.
template <class Fact>
std::string either(const std::vector<SchemeVariant>& variants, const Fact& fact) {
  std::vector<std::string> all;
  for (const SchemeVariant& variant : variants)
    if (const std::string text(fact(variant)); std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  return fmt::format("{}", fmt::join(all, " or "));
}

/// As Markdown: a comparison table, and a section for each scheme with its rule and its picture, images/schemes/NAME.svg.
void print_scheme_page();

}  // namespace straggler::cli
