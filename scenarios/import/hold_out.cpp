#include "scenarios/import/hold_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/formats/reading.hpp"
#include "scenarios/results/json.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/yaml_text.hpp"

namespace straggler {
namespace {

/// Of import.json.
struct HeldFigures {
  double step = 0;
  std::int64_t workers = 1;
  std::optional<std::int64_t> batch;       // of a worker
  bool grouped = false, measured = false;  // workers differ; times of collectives are measured
};

std::string* file_called(Imported& imported, const std::string& name) {
  const auto found = std::ranges::find(imported.files, name, &std::pair<std::string, std::string>::first);
  return found == imported.files.end() ? nullptr : &found->second;
}

Json facts_of(const Imported& imported) {
  for (const auto& [name, text] : imported.files)
    if (name == "import.json") return Json::parse(text);
  throw std::logic_error("an import without import.json");
}

std::optional<HeldFigures> figures_of(const Json& facts) {
  if (!facts.contains("step_s") || !facts["step_s"].is_number() || !facts.contains("workers")) return std::nullopt;
  HeldFigures made{facts["step_s"].get<double>(), facts["workers"].get<std::int64_t>(), std::nullopt};
  if (facts.contains("batch") && facts["batch"].is_number_integer()) made.batch = facts["batch"].get<std::int64_t>();
  made.grouped = facts.contains("ranks") && facts["ranks"].is_array() && facts["ranks"].size() > 1;
  made.measured = facts.contains("buckets") && facts["buckets"].is_array() && !facts["buckets"].empty();
  return made;
}

}  // namespace

void hold_out(Imported& imported, const Imported& held, const std::string& named) {
  Json facts = facts_of(imported);
  const std::optional<HeldFigures> base = figures_of(facts), wanted = figures_of(facts_of(held));
  if (!base || !wanted) throw DataError(named + ": says no time of a step, so there is nothing to predict; give a file of a whole step");
  const bool ranks = base->workers != wanted->workers, batch = base->batch && wanted->batch && *base->batch != *wanted->batch;
  const std::string shown = on_one_line(named);

  std::string claim =
      fmt::format("claim: 1\ntitle: {}\nsource: {}\nscenario: scenario.yaml\nmeasured: measured.csv\nwhere: {{set: held_out}}\n",
                  yaml_quoted(fmt::format("{} predicts {}", imported.name, shown)), yaml_quoted("from " + shown));
  std::vector<std::string> assumed;
  if (ranks && base->grouped) {
    claim += fmt::format("set:\n  cluster.workers: {{value: [{{count: {}, device: rank}}], source: {}}}\n", wanted->workers,
                         yaml_quoted(shown + ": all ranks like the median of those that were imported"));
    assumed.push_back("all ranks of what is held out are like the median of those that were imported");
  }
  std::vector<std::string> bind;
  if (ranks && !base->grouped) bind.emplace_back("workers: \"cluster.workers[0].count\"");
  if (batch) bind.emplace_back("batch: training.batch.per_worker");
  if (!bind.empty()) claim += fmt::format("bind: {{{}}}\n", fmt::join(bind, ", "));
  claim += "compare: {column: step_s, unit: s, metric: update_seconds}\nbound: {max: 10%}\n";
  if (ranks && base->measured) assumed.push_back("all-reduces take as long on another number of ranks: their times are measured");
  if (!ranks && !batch)
    assumed.push_back("what is held out is the same job: neither its ranks nor its batch differ, as far as the files say");

  std::string table = "set,workers,batch,step_s\n";
  const auto row = [&](const char* set, const HeldFigures& of) {
    table += fmt::format("{},{},{},{}\n", set, of.workers, of.batch ? std::to_string(*of.batch) : std::string(), format_number(of.step));
  };
  row("imported", *base);
  row("held_out", *wanted);

  facts["held_out"] = {{"files", shown}, {"step_s", wanted->step}, {"workers", wanted->workers}, {"batch", json_or_null(wanted->batch)}};
  for (const std::string& sentence : assumed) {
    facts["assumed"].push_back(sentence);
    imported.said.emplace_back("assumed", sentence);
  }
  imported.said.emplace_back("held out", fmt::format("{}: a step of {} on {} worker{}; straggler validate claim.yaml predicts it", shown,
                                                     readable_seconds(wanted->step), wanted->workers, wanted->workers == 1 ? "" : "s"));
  *file_called(imported, "claim.yaml") = std::move(claim);
  *file_called(imported, "measured.csv") = std::move(table);
  *file_called(imported, "import.json") = json_document(facts);
}

}  // namespace straggler
