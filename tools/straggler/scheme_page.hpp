// Kinds as Markdown, generated from their entries: all schemes as a page, other groups as a table.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/schema/vocabulary.hpp"
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
/// The kinds of a group, each with a row for each of its parameters.
void print_kind_table(KindGroup group);

}  // namespace straggler::cli
