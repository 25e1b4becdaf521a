// Answers of searches and races as JSON, with their version.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/results/out_file.hpp"

namespace straggler {

template <class Answer>
std::string answer_text(const char* kind, const Answer& answer) {
  return nlohmann::json{{"answer", 1}, {"kind", kind}, {"of", answer}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class Answer>
Answer read_answer_text(const char* kind, const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("answer") == 1 && json.at("kind") == kind) return json.at("of").template get<Answer>();
  } catch (const nlohmann::json::exception&) {
  }
  throw ResultsError(std::string("what the ") + kind + " came to was kept by another version; run it again: what is finished is there");
}

}  // namespace straggler
