#include "scenarios/sweep/description.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

namespace straggler {
namespace {

/// Beginnings of the lines of each part, in the order of Described; none begins with another one.
constexpr std::string_view beginnings[] = {"sweep: ",
                                           "scenario: ",
                                           "scenario of the first point: ",
                                           "axis ",
                                           "repeats: ",
                                           "timing: ",
                                           "find: ",
                                           "find over ",
                                           "crossover: ",
                                           "crossover between ",
                                           "crossover along ",
                                           "columns: ",
                                           "program: ",
                                           "math: ",
                                           "scenario of the first run: ",
                                           "entrant ",
                                           "seeds: ",
                                           "--tune ",
                                           "candidates: ",
                                           ""};
static_assert(std::size(beginnings) == static_cast<std::size_t>(Described::other) + 1);

DescribedFact fact_of(const std::string& line) {
  std::size_t about = 0;
  while (!line.starts_with(beginnings[about])) ++about;  // the last one is empty
  return {static_cast<Described>(about), line.substr(beginnings[about].size())};
}

/// Facts of `these` that `others` has not.
std::vector<DescribedFact> missing_from(const std::vector<DescribedFact>& others, const std::vector<DescribedFact>& these) {
  const std::set<DescribedFact> known(others.begin(), others.end());
  std::vector<DescribedFact> missing;
  for (const DescribedFact& fact : these)
    if (!known.contains(fact)) missing.push_back(fact);
  return missing;
}

}  // namespace

std::string DescribedFact::line() const { return std::string(beginnings[static_cast<std::size_t>(about)]) + text; }

void Description::add_lines(Described about, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) add(about, line);
}

std::vector<std::string> Description::all(Described about) const {
  std::vector<std::string> texts;
  for (const DescribedFact& fact : facts_)
    if (fact.about == about) texts.push_back(fact.text);
  return texts;
}

std::string Description::one(Described about) const {
  const auto fact = std::ranges::find(facts_, about, &DescribedFact::about);
  return fact == facts_.end() ? std::string() : fact->text;
}

bool Description::has(Described about) const {
  return std::any_of(facts_.begin(), facts_.end(), [about](const DescribedFact& fact) { return fact.about == about; });
}

std::vector<std::string> Description::lines() const {
  std::vector<std::string> lines;
  for (const DescribedFact& fact : facts_) lines.push_back(fact.line());
  return lines;
}

Description Description::of_lines(const std::vector<std::string>& lines) {
  Description description;
  for (const std::string& line : lines) description.facts_.push_back(fact_of(line));
  return description;
}

std::string DescriptionChange::first() const {
  const auto text = [](const std::optional<DescribedFact>& fact) { return fact ? "'" + fact->line() + "'" : std::string("nothing"); };
  return text(first_now) + " here, " + text(first_before) + " there";
}

DescriptionChange change(const Description& now, const Description& before) {
  const std::vector<DescribedFact>&mine = now.facts(), &theirs = before.facts();
  DescriptionChange change{missing_from(mine, theirs), missing_from(theirs, mine), {}, {}};
  const auto [here, there] = std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end());
  if (here != mine.end()) change.first_now = *here;
  if (there != theirs.end()) change.first_before = *there;
  return change;
}

}  // namespace straggler
