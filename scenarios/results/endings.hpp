// How the runs of a sweep, a search, a race or a comparison ended: which did not finish, and which learned nothing.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/results/summary.hpp"
#include "sim/record/guess_warning.hpp"

namespace straggler {

/// What the run learned, by the scalars of its summary.
Learned learned_of(const std::vector<SummaryField>& fields);

class Endings {
 public:
  /// Of runs that have `fields`, the scalars of their summaries; those without any have failed, and are left out.
  template <class Runs>
  static Endings of(const Runs& runs) {
    Endings endings;
    for (const auto& run : runs)
      if (!run.fields.empty()) endings.add(run.fields);
    return endings;
  }
  /// A run, by the scalars of its summary.
  void add(const std::vector<SummaryField>& fields);
  /// A run of which only the outcome is known.
  void add(const std::string& outcome);

  bool all_finished() const { return unfinished_ == 0; }
  /// "completed", "diverged"; of several: "3 completed, 2 diverged". Empty without runs.
  std::string outcomes() const { return text(false); }
  /// "2 of 6 runs did not finish (1 aborted, 1 diverged): they count as missed and enter no mean"; empty: all did.
  std::string unfinished() const;
  /// "2 of 6 runs end no better than guessing (…): they learned nothing, or lost it again; …"; empty: none does.
  std::string guesses() const;
  /// Both, where they are not empty.
  std::vector<std::string> notes() const;

 private:
  std::string text(bool only_unfinished) const;

  std::size_t runs_ = 0, unfinished_ = 0, guesses_ = 0;
  std::map<std::pair<bool, std::string>, std::size_t> outcomes_;  // by whether it is not finished, and its name
  std::optional<Learned> guess_;                                  // the first one
};

/// Of a run that is not finished, after its name: "diverged", "was aborted".
const char* how_it_ended(Outcome outcome);

}  // namespace straggler
