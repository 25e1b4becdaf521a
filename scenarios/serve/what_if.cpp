#include "scenarios/serve/what_if.hpp"

#include <utility>

#include "scenarios/experiment/measured_collective.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/serve/knobs.hpp"
#include "scenarios/serve/preview.hpp"

namespace straggler {

using Json = nlohmann::ordered_json;

Json drawn(const Figure& figure) {
  if (charts_move()) return {{"data", figure.data}};
  return {{"still", still_of(figure)}};
}

ChangedScenario changed_by(Scenario base, const Json& settings) {
  ChangedScenario asked;
  asked.base = std::move(base);
  asked.changed = changed(asked.base, settings, asked.notes);
  return asked;
}

std::optional<Json> WhatIfPage::answer(const std::string& key, const ChangedScenario& asked, std::chrono::milliseconds wall,
                                       const std::function<bool()>& superseded) {
  const Preview seen = preview(asked.changed, wall, superseded);
  if (seen.superseded) return std::nullopt;
  const bool as_it_is = asked.as_it_is();
  constexpr std::size_t most_kept = 64;
  if (own_shares_.size() > most_kept) own_shares_.clear();
  if (as_it_is) own_shares_[key] = seen.shares;
  std::vector<std::string> names;
  std::vector<ByPhase<double>> rows;
  const auto add_row = [&](const char* name, const ByPhase<double>& shares) {
    names.emplace_back(name);
    rows.push_back(shares);
  };
  if (const auto own = own_shares_.find(key); own != own_shares_.end()) add_row("as it is", own->second);
  if (!as_it_is) add_row("changed", seen.shares);
  StackChart split = time_split(names, rows);
  split.label = "Where the workers' time goes";
  Json knobs = Json::array();
  for (const Knob& knob : knobs_of(asked.changed, asked.base)) knobs.push_back(json_of(knob));
  Json timeline;
  if (!seen.timeline.empty()) timeline["data"] = seen.timeline;
  if (!seen.still.empty()) timeline["still"] = seen.still;
  std::vector<std::string> notes = asked.notes;
  const NetworkSpec &now = asked.changed.cluster.network, &before = asked.base.cluster.network;
  if (now.collective.algorithm == measured_algorithm && (now.link.up != before.link.up || now.link.latency != before.link.latency))
    notes.emplace_back("times of all-reduces are measured: bandwidth and latency do not change them");
  notes.insert(notes.end(), seen.warnings.begin(), seen.warnings.end());
  return Json{{"name", asked.base.name},
              {"scheme", asked.changed.training.scheme.name},
              {"as_it_is", as_it_is},
              {"updates", seen.updates},
              {"complete", seen.complete},
              {"fraction", seen.fraction},
              {"wall_s", seen.wall_seconds},
              {"extent", extent_sentence(seen)},
              {"figures", figures_of(seen)},
              {"split", drawn(figure_of({}, {}, split))},
              {"timeline", std::move(timeline)},
              {"timeline_label", seen.timeline_label},
              {"notes", notes},
              {"knobs", std::move(knobs)}};
}

}  // namespace straggler
