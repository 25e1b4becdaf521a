#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "scenarios/advise/advise_said.hpp"
#include "scenarios/results/json.hpp"
#include "scenarios/results/text.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

std::string shell_word(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:,+-%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$' || c == '`') out += '\\';
    out += c;
  }
  return out + '"';
}

/// As a shell takes them.
std::string shell_sets(const Attempt& attempt) {
  std::string text;
  for (const std::string& set : attempt.sets) text += (text.empty() ? "--set " : " --set ") + shell_word(set);
  return text;
}

constexpr const char* titles[] = {"A. Same machines, same learning", "B. Same machines, other learning", "C. Other machines"};

std::string row_table(const Advice& advice, const std::vector<const AdviceRow*>& rows) {
  std::vector<std::vector<std::string>> cells{{"remedy", "setting", "samples/s", "change", "an update"}};
  if (advice.own.price) cells[0].emplace_back("price");
  if (advice.own.joules) cells[0].emplace_back("energy");
  for (const AdviceRow* const row : rows) {
    const TrialFigures& figures = *row->figures;
    cells.push_back({row->name(), row->attempt.setting, readable_number(figures.samples_per_second),
                     fmt::format("{:+.1f} %", 100 * row->change), readable_seconds(figures.step)});
    if (advice.own.price) cells.back().push_back(figures.price ? readable_price(*figures.price) : "-");
    if (advice.own.joules) cells.back().push_back(figures.joules ? readable_joules(*figures.joules) : "-");
  }
  const std::string table = aligned(cells, 2);
  TextLines lines(table);
  std::string out;
  for (std::string_view line; lines.next(line); out += '\n') {
    out += line;
    if (lines.number() == 1) continue;  // the titles
    const AdviceRow& row = *rows[lines.number() - 2];
    out += row.attempt.sets.empty() ? "  upper bound" : "  " + shell_sets(row.attempt);
  }
  return out;
}

std::string cell_of(const std::optional<double>& value) { return value ? number_text(*value) : std::string(); }

std::string csv_row(const AdviceRow& row) {
  const auto number = [&](double TrialFigures::*member) { return row.figures ? number_text((*row.figures).*member) : std::string(); };
  const std::string note = row.figures ? row.note : "left out: " + row.why_not;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", row.list(), csv_text(row.name()), csv_text(row.attempt.setting),
                     csv_text(sets_text(row.attempt)), number(&TrialFigures::samples_per_second),
                     row.figures ? number_text(row.change) : "", number(&TrialFigures::step),
                     cell_of(row.figures ? row.figures->time_to_target : std::nullopt),
                     cell_of(row.figures ? row.figures->price : std::nullopt), cell_of(row.figures ? row.figures->joules : std::nullopt),
                     csv_text(row.learning()), csv_text(note));
}

Json row_json(const Advice& advice, const AdviceRow& row) {
  Json json{{"list", row.list()}, {"remedy", row.name()}, {"setting", text_or_null(row.attempt.setting)}, {"set", row.attempt.sets}};
  json["samples_per_second"] = row.figures ? Json(row.figures->samples_per_second) : Json();
  json["change"] = row.figures ? Json(row.change) : Json();
  json["step_s"] = row.figures ? Json(row.figures->step) : Json();
  json["time_to_target_s"] = row.figures ? json_or_null(row.figures->time_to_target) : Json();
  json["price"] = row.figures ? json_or_null(row.figures->price) : Json();
  json["energy_joules"] = row.figures ? json_or_null(row.figures->joules) : Json();
  json["learning"] = row.learning();
  json["note"] = text_or_null(row.figures ? row.note : row.why_not);
  json["race"] = text_or_null(race_of(advice, row));
  return json;
}

/// Each remedy once: one that is left out with several settings has one reason, mostly.
std::vector<const AdviceRow*> left_out_once(const Advice& advice) {
  std::vector<const AdviceRow*> rows;
  for (const AdviceRow& row : advice.left_out)
    if (std::ranges::none_of(rows, [&](const AdviceRow* each) { return each->remedy == row.remedy && each->why_not == row.why_not; }))
      rows.push_back(&row);
  std::ranges::stable_sort(rows, {}, [](const AdviceRow* row) { return row->remedy->list; });
  return rows;
}

}  // namespace

std::string sets_text(const Attempt& attempt) {
  std::string text;
  for (const std::string& set : attempt.sets) text += (text.empty() ? "" : " --set ") + set;
  return text;
}

std::string race_of(const Advice& advice, const AdviceRow& row) {
  if (advice.timing_only || row.remedy->list != RemedyList::other_learning || row.attempt.sets.empty()) return {};
  std::string entrant = "changed: {";
  for (const std::string& set : row.attempt.sets) {
    const std::size_t equals = set.find('=');
    entrant += (entrant.ends_with('{') ? "" : ", ") + set.substr(0, equals) + ": " + set.substr(equals + 1);
  }
  return fmt::format("straggler race {} --schemes {} --entrant {}{}", shell_word(advice.file), advice.scheme, shell_word(entrant + "}"),
                     advice.race_sets);
}

std::string advise_csv(const Advice& advice, bool all) {
  std::string out = "list,remedy,setting,set,samples_per_second,change,step_s,time_to_target_s,price,energy_joules,learning,note\n";
  for (const AdviceRow& row : advice.rows) out += csv_row(row);
  for (const AdviceRow& row : advice.combinations) out += csv_row(row);
  if (all)
    for (const AdviceRow* const row : left_out_once(advice)) out += csv_row(*row);
  return out;
}

std::string advise_text(const Advice& advice, bool all) {
  if (advice.figures_alone) {
    std::string said;
    for (const std::string& sentence : plain(advise_said(advice))) said += sentence + "\n";
    return said;
  }
  std::string out = fmt::format("{}, {}. {} samples/s, an update takes {}.\n", advice.name, advice.scheme,
                                readable_number(advice.own.samples_per_second), readable_seconds(advice.own.step));
  for (const RemedyList list : {RemedyList::same_learning, RemedyList::other_learning, RemedyList::other_machines}) {
    const std::vector<const AdviceRow*> rows = best_of_each(advice, list);
    if (!rows.empty()) out += fmt::format("\n{}\n{}", titles[static_cast<std::size_t>(list)], row_table(advice, rows));
  }
  if (!advice.combinations.empty()) {
    std::vector<const AdviceRow*> rows;
    for (const AdviceRow& row : advice.combinations) rows.push_back(&row);
    out += "\nTogether\n" + row_table(advice, rows);
  }
  out += '\n';
  for (const std::string& sentence : plain(advise_said(advice))) out += sentence + "\n";
  const std::vector<const AdviceRow*> other = best_of_each(advice, RemedyList::other_learning);
  if (!other.empty())
    if (const std::string race = race_of(advice, *other.front()); !race.empty())
      out += fmt::format("What {} does to learning: {}\n", other.front()->name(), race);
  if (!all) return out;
  out += "\nLeft out\n";
  for (const AdviceRow* const row : left_out_once(advice)) out += fmt::format("{}: {}\n", row->remedy->name, row->why_not);
  return out;
}

std::string advise_json(const Advice& advice, const std::string& out) {
  constexpr const char* bindings[] = {"computing", "loader", "host", "worker", "jitter", "network", "server", "unknown"};
  const bool job = !advice.figures_alone;
  Json json{{"name", advice.name},
            {"scheme", text_or_null(advice.scheme)},
            {"timing_only", advice.timing_only},
            {"by", advice_by_choice.name_of(advice.by)}};
  json["samples_per_second"] = job ? Json(advice.own.samples_per_second) : Json();
  json["step_s"] = job ? Json(advice.own.step) : Json();
  json["time_to_target_s"] = json_or_null(advice.own.time_to_target);
  json["binds"] = job ? Json(bindings[static_cast<std::size_t>(advice.binding)]) : Json();
  json["bound_share"] = job && advice.binding != Binding::unknown ? Json(advice.bound) : Json();
  json["noise_scale"] = json_or_null(advice.noise_scale);
  json["remedies"] = Json::array();
  for (const AdviceRow& row : advice.rows) json["remedies"].push_back(row_json(advice, row));
  json["combinations"] = Json::array();
  for (const AdviceRow& row : advice.combinations) json["combinations"].push_back(row_json(advice, row));
  json["left_out"] = Json::array();
  for (const AdviceRow* const row : left_out_once(advice))
    json["left_out"].push_back({{"list", row->list()}, {"remedy", row->remedy->name}, {"reason", row->why_not}});
  json["words"] = plain(advise_said(advice));
  json["warnings"] = advice.warnings;
  json["out"] = out;
  return json_document(json);
}

}  // namespace straggler
