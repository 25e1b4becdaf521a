#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "scenarios/reasons/explain_said.hpp"
#include "scenarios/results/json.hpp"
#include "scenarios/results/text.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

std::string cell(const std::optional<double>& value) { return value ? number_text(*value) : std::string(); }

template <class Value>
std::optional<double> of(const std::optional<Figures>& figures, Value Figures::*member) {
  return figures ? std::optional<double>(figures.value().*member) : std::nullopt;
}

std::string seconds_cell(const std::optional<double>& seconds) { return seconds ? readable_seconds(*seconds) : "-"; }
std::string number_cell(const std::optional<double>& value) { return value ? readable_number(*value) : "-"; }
std::string score_cell(const std::optional<double>& value) { return value ? readable_score(*value) : "-"; }
std::string share_cell(const std::optional<double>& share) { return share ? fmt::format("{:.1f} %", 100 * *share) : "-"; }
std::string change_cell(const std::optional<double>& share) { return share ? fmt::format("{:+.1f} %", 100 * *share) : "-"; }

std::string cause_table(const Explained& explained) {
  const bool math = !explained.timing_only;
  const bool target = std::ranges::any_of(explained.rows, [](const CauseRow& row) { return row.figures && row.figures->time_to_target; });
  std::vector<std::vector<std::string>> rows{{"removed", "takes", "samples/s"}};
  if (target) rows.front().emplace_back("to target");
  if (math) rows.front().emplace_back("accuracy");
  rows.front().insert(rows.front().end(), {"saves", "share"});
  std::vector<const CauseRow*> shown;  // those that are not there would be rows of zeros; a sentence names them
  for (const CauseRow& row : explained.rows)
    if (!row.absent) shown.push_back(&row);
  for (const CauseRow* const each : shown) {
    const CauseRow& row = *each;
    std::vector<std::string> cells{name_of(row.cause), seconds_cell(of(row.figures, &Figures::simulated_seconds)),
                                   number_cell(of(row.figures, &Figures::samples_per_second))};
    if (target) cells.push_back(seconds_cell(of(row.figures, &Figures::time_to_target)));
    if (math) cells.push_back(score_cell(of(row.figures, &Figures::final_test_accuracy)));
    cells.push_back(seconds_cell(row.seconds_saved));
    cells.push_back(share_cell(row.share));
    rows.push_back(std::move(cells));
  }
  const std::string table = aligned(rows, 1);
  TextLines lines(table);
  std::string out;
  for (std::string_view line; lines.next(line); out += '\n') {
    out += line;
    if (lines.number() == 1) continue;  // the titles
    if (const std::string& note = shown[lines.number() - 2]->note; !note.empty()) out += "  " + note;
  }
  return out;
}

std::string change_table(const Explained& explained) {
  const bool target = std::ranges::any_of(explained.changes, [](const ChangeRow& row) { return row.target_change.has_value(); });
  std::vector<std::vector<std::string>> rows{{"change", "samples/s", "rate"}};
  if (target) rows.front().emplace_back("time to target");
  for (const ChangeRow& row : explained.changes) {
    rows.push_back({row.change, number_cell(of(row.figures, &Figures::samples_per_second)), change_cell(row.rate_change)});
    if (target) rows.back().push_back(change_cell(row.target_change));
  }
  std::string out = aligned(rows, 1);
  for (const ChangeRow& row : explained.changes)
    if (!row.note.empty()) out += fmt::format("{}: {}\n", row.change, row.note);
  return out;
}

Json slowdowns_json(const Slowdowns& slowdowns) {
  Json json{{"note", text_or_null(slowdowns.note)}};
  if (!slowdowns.note.empty()) return json;
  json["updates"] = slowdowns.updates;
  json["simulated_s"] = slowdowns.seconds;
  json["even_s"] = slowdowns.ideal_seconds;
  json["slowdown"] = slowdowns.all();
  for (const Slowdowns::Kind& kind : slowdowns.kinds) json["kinds"][name_of(kind.kind)] = kind.slowdown;
  json["workers"] = Json::array();
  for (const Slowdowns::Worker& worker : slowdowns.workers)
    json["workers"].push_back({{"worker", worker.rank}, {"slowdown", worker.slowdown}});
  json["slowest_workers"] = slowdowns.slowest;
  json["share_of_slowest"] = json_or_null(slowdowns.slowest_share);
  return json;
}

std::vector<std::string> all_words(const Explained& explained) {
  std::vector<Said> all = explain_said(explained);
  if (explained.slowdowns) std::ranges::copy(slowdowns_said(*explained.slowdowns), std::back_inserter(all));
  return plain(all);
}

Json figures_json(const std::optional<Figures>& figures) {
  Json json;
  json["simulated_s"] = json_or_null(of(figures, &Figures::simulated_seconds));
  json["samples_per_second"] = json_or_null(of(figures, &Figures::samples_per_second));
  json["time_to_target_s"] = json_or_null(of(figures, &Figures::time_to_target));
  json["final_test_accuracy"] = json_or_null(of(figures, &Figures::final_test_accuracy));
  return json;
}

}  // namespace

std::string explain_csv(const Explained& explained) {
  std::string out = "cause,simulated_seconds,samples_per_second,time_to_target_s,final_test_accuracy,seconds_saved,share\n";
  for (const CauseRow& row : explained.rows)
    out += fmt::format("{},{},{},{},{},{},{}\n", name_of(row.cause), cell(of(row.figures, &Figures::simulated_seconds)),
                       cell(of(row.figures, &Figures::samples_per_second)), cell(of(row.figures, &Figures::time_to_target)),
                       cell(of(row.figures, &Figures::final_test_accuracy)), cell(row.seconds_saved), cell(row.share));
  return out;
}

std::string elasticities_csv(const Explained& explained) {
  std::string out = "change,input_change,samples_per_second,rate_change,elasticity,time_to_target_s,time_to_target_change\n";
  for (const ChangeRow& row : explained.changes)
    out += fmt::format("{},{},{},{},{},{},{}\n", csv_text(row.change), number_text(row.input_share),
                       cell(of(row.figures, &Figures::samples_per_second)), cell(row.rate_change), cell(row.elasticity()),
                       cell(of(row.figures, &Figures::time_to_target)), cell(row.target_change));
  return out;
}

std::string explain_text(const Explained& explained) {
  std::string out = fmt::format("{}, {}. {}\n\n{}\n{}\n", explained.name, explained.scheme, plain(work_said(explained)),
                                cause_table(explained), change_table(explained));
  for (const std::string& sentence : all_words(explained)) out += sentence + "\n";
  return out;
}

std::string explain_json(const Explained& explained, const std::string& out) {
  Json json{{"name", explained.name},
            {"scheme", explained.scheme},
            {"timing_only", explained.timing_only},
            {"compared", explained.by_target ? "time_to_target_s" : "simulated_s"},
            {"ranked_by", explained.by_rate()   ? "samples_per_second"
                          : explained.by_target ? "time_to_target_s"
                                                : "simulated_s"},
            {"work", plain(work_said(explained))}};
  json["causes"] = Json::array();
  for (const CauseRow& row : explained.rows) {
    Json one{{"cause", name_of(row.cause)}};
    one.update(figures_json(row.figures));
    one["saved_s"] = json_or_null(row.seconds_saved);
    one["share"] = json_or_null(row.share);
    one["note"] = text_or_null(row.note);
    json["causes"].push_back(std::move(one));
  }
  json["elasticities"] = Json::array();
  for (const ChangeRow& row : explained.changes) {
    Json one{{"change", row.change}, {"input_change", row.input_share}};
    one["samples_per_second"] = json_or_null(of(row.figures, &Figures::samples_per_second));
    one["rate_change"] = json_or_null(row.rate_change);
    one["elasticity"] = json_or_null(row.elasticity());
    one["time_to_target_s"] = json_or_null(of(row.figures, &Figures::time_to_target));
    one["time_to_target_change"] = json_or_null(row.target_change);
    one["note"] = text_or_null(row.note);
    json["elasticities"].push_back(std::move(one));
  }
  const CauseRow* const first = bottleneck(explained);
  json["bottleneck"] = first ? Json(name_of(first->cause)) : Json();
  json["words"] = all_words(explained);
  if (explained.slowdowns) json["slowdowns"] = slowdowns_json(*explained.slowdowns);
  json["warnings"] = explained.warnings;
  json["out"] = out;
  return json_document(json);
}

}  // namespace straggler
