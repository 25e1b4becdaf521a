// Outcomes of searches and races as JSON in the state of their folder, with their version and the description of what was run.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/results/out_file.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/sweep/sweep_state.hpp"
#include "sim/base/format_version.hpp"

/// None is null.
template <class Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  static void to_json(json& to, const std::optional<Value>& value) { to = value ? json(*value) : json(); }
  static void from_json(const json& from, std::optional<Value>& value) {
    value = from.is_null() ? std::nullopt : std::optional(from.template get<Value>());
  }
};

namespace straggler {

inline void to_json(nlohmann::json& json, const StudyRun& run) {
  json = {{"seed", run.seed}, {"fields", fields_text(run.fields)}, {"sketch", run.sketch}};
}
inline void from_json(const nlohmann::json& json, StudyRun& run) {
  run = {json.at("seed").get<std::uint64_t>(), fields_of_text(json.at("fields").get<std::string>()), json.at("sketch").get<std::string>()};
}

/// Of the search or race that the state describes.
template <class Outcome>
void keep_outcome(SweepState& state, const char* kind, const Outcome& outcome) {
  const nlohmann::json json{{"answer", FormatVersion::answer}, {"kind", kind}, {"described", state.description().lines()}, {"of", outcome}};
  state.keep_answer(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Throws ResultsError with the place if the state has none, or that of another version or of an earlier run.
template <class Outcome>
Outcome kept_outcome(SweepState& state, const char* kind, const std::string& place) {
  const std::string text = state.answer(), again = std::string("; run the ") + kind + " again: finished points are kept";
  if (text.empty()) throw ResultsError(place + ": the " + kind + " has not finished, or an earlier version ran it" + again);
  std::string fault = "cannot be read";
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    const nlohmann::json& version = json.at("answer");
    if (version.is_number_integer() && version != FormatVersion::answer) {
      fault = "has version " + version.dump() + " of the format; this program reads version " + std::to_string(FormatVersion::answer);
    } else if (version == FormatVersion::answer && json.at("kind") == kind) {
      if (Description::of_lines(json.at("described")) != state.description())
        throw ResultsError(place + ": the " + kind + " was changed and has not finished since" + again);
      return json.at("of").template get<Outcome>();
    }
  } catch (const nlohmann::json::exception&) {
  } catch (const std::invalid_argument&) {
  }
  throw ResultsError(place + ": the answer of this " + kind + " " + fault + "; run the same straggler " +
                     (kind == std::string_view("race") ? "race" : "sweep") + " command again: finished runs are not repeated");
}

}  // namespace straggler
