#include "scenarios/report/said_words.hpp"

#include <algorithm>

#include "scenarios/report/axis_title.hpp"

namespace straggler {
namespace {

struct PageWords {
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const SaidPath& part) const { return axis_title(part.path); }
  std::string operator()(const SaidSetting& part) const { return axis_title(part.path) + " " + part.value; }
  std::string operator()(const SaidMetric& part) const { return metric_title(part.name); }
  std::string operator()(const SaidName& part) const { return part.name; }
  std::string operator()(const SaidValue& part) const {
    MeanStyle style = part.style;
    style.sign = page_mean.sign;
    return mean_text(part.statistics, part.runs, part.text, style);
  }
};

}  // namespace

std::string metric_title(const std::string& metric) {
  if (metric == "simulated_seconds") return "simulated time";
  std::string title = metric.ends_with("_s") ? metric.substr(0, metric.size() - 2) : metric;
  std::ranges::replace(title, '_', ' ');
  return title;
}

std::string page_words(const Said& said) { return said.written(PageWords()); }

std::vector<std::string> page_words(const std::vector<Said>& all) {
  std::vector<std::string> sentences;
  for (const Said& said : all) sentences.push_back(page_words(said));
  return sentences;
}

std::string page_sentence(const Said& said) {
  const bool named = !said.empty() && std::holds_alternative<SaidName>(said.parts().front());
  return (named ? page_words(said) : capital(page_words(said))) + ".";
}

std::string scenario_paths(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "In the scenario, " : "; ") + axis_title(path) + " is " + path;
  return text + ".";
}

}  // namespace straggler
