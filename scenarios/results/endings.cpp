#include "scenarios/results/endings.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/base/readable.hpp"

namespace straggler {

Learned learned_of(const std::vector<SummaryField>& fields) {
  const auto number = [&](const char* key) { return scalar_of(fields, key).number(); };
  return {text_of(fields, "scheme"), number("final_test_accuracy"), number("guessing_accuracy"),
          number("epochs"),          number("staleness_mean"),      number("compression_ratio").has_value()};
}

void Endings::add(const std::vector<SummaryField>& fields) {
  const std::string outcome = text_of(fields, "outcome");
  add(outcome.empty() ? name_of(Outcome::completed) : outcome);
  if (scalar_of(fields, "guessing_accuracy").is_none() || !is_finished(fields)) return;
  const Learned learned = learned_of(fields);
  if (!only_guesses(learned)) return;
  ++guesses_;
  if (!guess_) guess_ = learned;
}

void Endings::add(const std::string& outcome) {
  const bool unfinished = outcome != name_of(Outcome::completed) && outcome != name_of(Outcome::target_reached);
  ++runs_;
  unfinished_ += unfinished ? 1 : 0;
  ++outcomes_[{unfinished, outcome}];
}

std::string Endings::text(bool only_unfinished) const {
  std::string all;
  const std::size_t kinds = outcomes_.size();
  for (const auto& [kind, count] : outcomes_) {
    if (only_unfinished && !kind.first) continue;
    all += (all.empty() ? "" : ", ") + (kinds > 1 || only_unfinished ? fmt::format("{} ", count) : std::string()) + kind.second;
  }
  return all;
}

std::string Endings::unfinished() const {
  if (unfinished_ == 0) return {};
  const bool one = unfinished_ == 1;
  return fmt::format("{} of {} run{} did not finish ({}): {} as missed and {} no mean", unfinished_, runs_, runs_ == 1 ? "" : "s",
                     text(true), one ? "it counts" : "they count", one ? "enters" : "enter");
}

std::string Endings::guesses() const {
  if (guesses_ == 0) return {};
  return fmt::format(
      "{} of {} run{} end{} no better than guessing (the most frequent class has {} of the test samples): {} learned nothing, "
      "or lost it again; {}",
      guesses_, runs_, runs_ == 1 ? "" : "s", guesses_ == 1 ? "s" : "", readable_score(*guess_->guess), guesses_ == 1 ? "it" : "they",
      guess_remedy(*guess_));
}

const char* how_it_ended(Outcome outcome) {
  switch (outcome) {
    case Outcome::completed:
    case Outcome::target_reached:
      return "finished";
    case Outcome::diverged:
      return "diverged";
    case Outcome::interrupted:
      return "was interrupted";
    case Outcome::aborted:
      return "was aborted";
    case Outcome::all_workers_down:
      return "ended with all workers down";
    case Outcome::stalled:
      return "stalled";
    case Outcome::overloaded:
      return "was overloaded";
  }
  throw std::logic_error("no such outcome");
}

std::vector<std::string> Endings::notes() const {
  std::vector<std::string> all;
  for (std::string note : {unfinished(), guesses()})
    if (!note.empty()) all.push_back(std::move(note));
  return all;
}

}  // namespace straggler
