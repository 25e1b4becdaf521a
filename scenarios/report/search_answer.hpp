// The results of a search for its page. Kept in the state of the search, so that `report` can make the page again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/report/run_sheets.hpp"
#include "scenarios/search/crossover.hpp"
#include "scenarios/search/find.hpp"

namespace straggler {

/// A metric over the repeats of one setting.
struct AnswerValue {
  double mean = 0, half_width = 0;
  std::size_t count = 0, repeats = 0;  // repeats that have a value, and all
};

struct TriedSetting {
  std::vector<std::string> labels;  // [settings]
  std::size_t batch = 0;
  AnswerValue value;
  bool as_good = false;  // not significantly worse than the best; the best is
  std::string stands;    // relative to the best, in words
  std::vector<ShownRun> runs = {};
};
struct TriedGroup {
  std::vector<std::string> labels;  // of the axes
  std::vector<TriedSetting> points;
  std::size_t best = 0;  // none: points.size()
};
/// A setting that was searched.
struct SearchedSetting {
  std::string path, values;  // "1 to 64", "ring, tree"
  bool numbers = false;      // it is a range
};

struct ComparedSetting {
  std::string label;
  AnswerValue first, second, difference;
  std::size_t winner = 2;  // ahead; 0: first, 1: second, 2: neither
  std::string verdict;     // in words
  std::vector<ShownRun> first_runs = {}, second_runs = {};
};
struct FoundCrossing {
  std::string between, below, above;     // labels: halfway, and its neighbours
  std::string unclear_from, unclear_to;  // labels; empty: the difference is significant everywhere around, or nearly
};
struct ComparedGroup {
  std::vector<std::string> labels;  // of the axes
  std::vector<ComparedSetting> points;
  std::vector<FoundCrossing> crossings;
};

struct SearchAnswer {
  Description description;        // of the search that it is the answer to
  std::vector<std::string> axes;  // paths
  std::string metric;
  bool maximize = false, interrupted = false;
  std::int64_t repeats = 1;
  std::size_t runs = 0, timing_runs = 0;
  std::string said;  // in words, without the count of runs
  std::vector<std::string> reasons;
  std::vector<std::string> failures;
  // A find.
  std::vector<SearchedSetting> over;
  std::vector<TriedGroup> found;
  // A crossover; `between` is empty in a find.
  std::vector<std::string> between;  // labels
  std::string compared;              // their path
  SearchedSetting along;
  double tolerance = 0;
  std::vector<ComparedGroup> crossed;
};

SearchAnswer answer_of(const SearchFile& search, const FindOutcome& outcome, Description description);
SearchAnswer answer_of(const SearchFile& search, const CrossoverOutcome& outcome, Description description);

/// As the state keeps it; equal answers have equal texts.
std::string write_answer(const SearchAnswer& answer);
/// Throws ResultsError if it is none, or of another version.
SearchAnswer read_search_answer(const std::string& text);
/// That which a state keeps, in the file `place`. Throws ResultsError if it is none, or of another search than was begun last.
SearchAnswer kept_search_answer(SweepState& state, const std::string& place);

}  // namespace straggler
