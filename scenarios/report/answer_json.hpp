// Answers of searches and races as JSON, with their version.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/report/run_sheets.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/sweep/sweep_state.hpp"

namespace straggler {

inline void to_json(nlohmann::json& json, const Description& description) { json = description.lines(); }
inline void from_json(const nlohmann::json& json, Description& description) {
  description = Description::of_lines(json.get<std::vector<std::string>>());
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShownRun, seed, numbers, sketch, outcome)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShownSetting, name, paths, runs)

template <class Answer>
std::string answer_text(const char* kind, const Answer& answer) {
  return nlohmann::json{{"answer", 3}, {"kind", kind}, {"of", answer}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class Answer>
Answer read_answer_text(const char* kind, const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("answer") == 3 && json.at("kind") == kind) return json.at("of").template get<Answer>();
  } catch (const nlohmann::json::exception&) {
  }
  throw ResultsError(std::string("another version of straggler wrote the answer of this ") + kind + "; run the same straggler " +
                     (kind == std::string_view("race") ? "race" : "sweep") + " command again: finished runs are not repeated");
}

/// The answer that a state keeps. Throws ResultsError, with the place, if there is none or it is not of the last run.
template <class Answer>
Answer kept_answer_of(const char* kind, SweepState& state, const std::string& place) {
  const std::string text = state.answer(), again = std::string("; run the ") + kind + " again: finished points are kept";
  if (text.empty()) throw ResultsError(place + ": the " + kind + " has not finished, or an earlier version ran it" + again);
  try {
    Answer answer = read_answer_text<Answer>(kind, text);
    if (answer.description == state.description()) return answer;
  } catch (const ResultsError& error) {
    throw ResultsError(place + ": " + error.what());
  }
  throw ResultsError(place + ": the " + kind + " was changed and has not finished since" + again);
}

}  // namespace straggler
