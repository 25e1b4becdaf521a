#include "scenarios/serve/result_list.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "scenarios/results/live_progress.hpp"
#include "scenarios/results/result_folder.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr int deepest = 4;
constexpr std::size_t most_results = 2000, most_rows = 2000, most_summary_bytes = 1 << 20;
constexpr std::array shown = {"name",
                              "scheme",
                              "workers",
                              "outcome",
                              "simulated_seconds",
                              "samples_per_second",
                              "step_s",
                              "scaling_efficiency",
                              "time_to_target_s",
                              "target_accuracy",
                              "final_test_accuracy"};
constexpr std::array<std::string_view, 6> endings = {".html", ".csv", ".json", ".yaml", ".svg", ".txt"};

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// visit(path, is a folder) for `root` and all folders and files below it; nothing within hidden folders, and no pipes or devices, which
/// might never end.
template <class Visit>
void each_entry(const fs::path& root, const Visit& visit) {
  std::error_code error, unknown;
  visit(root, true);
  for (fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_symlink(unknown)) continue;
    const bool folder = at->is_directory(unknown);
    if (folder || at->is_regular_file(unknown)) visit(at->path(), folder);
    if (folder && (at.depth() + 1 >= deepest || is_hidden(at->path()))) at.disable_recursion_pending();
  }
}

bool has(const fs::path& folder, const char* file) {
  std::error_code error;
  return fs::is_regular_file(folder / file, error);
}

Json summary_of(const fs::path& folder) {
  Json out = Json::object();
  const Json summary = Json::parse(read_file(folder / "summary.json", most_summary_bytes).text, nullptr, false);
  if (!summary.is_object()) return out;
  for (const char* key : shown)
    if (summary.contains(key)) out[key] = summary[key];
  return out;
}

/// Of `straggler import`, and nothing that was run.
bool is_import(const fs::path& folder) { return has(folder, "import.json") && !has(folder, "summary.json"); }

const char* kind_of(const fs::path& folder) {
  if (has(folder, "summary.json")) return "run";
  if (has(folder, "explain.csv")) return "explanation";
  if (has(folder, "advise.csv")) return "advice";
  if (has(folder, "sweep.sqlite")) return "sweep";
  if (has(folder, "race.sqlite")) return "race";
  if (has(folder, "validation.csv")) return "validation";
  if (is_import(folder)) return "import";
  return "comparison";
}

/// A file that begins as a scenario does, after its comments.
bool is_scenario(const fs::path& file) {
  FileLines lines(file);
  std::string_view line;
  for (int i = 0; i < 100 && lines.next(line); ++i) {
    line = trimmed(line);
    if (!line.empty() && !line.starts_with('#') && line != "---") return line.starts_with("straggler:");
  }
  return false;
}

}  // namespace

Json list_results(const fs::path& root) {
  std::vector<Json> found;
  each_entry(root, [&](const fs::path& path, bool folder) {
    if (found.size() >= most_results || (is_hidden(path) && path != root)) return;
    const std::string shown_path = path.lexically_relative(root).generic_string();
    if (!folder) {
      const bool listed = has(path.parent_path(), "summary.json") || (path.filename() == "scenario.yaml" && is_import(path.parent_path()));
      if (path.extension() != ".yaml" || listed || !is_scenario(path)) return;
      found.push_back(
          {{"path", shown_path}, {"kind", "scenario"}, {"page", false}, {"scenario", shown_path}, {"name", path.stem().string()}});
      return;
    }
    const bool page = has(path, "report.html"), run = has(path, "summary.json"), imported = is_import(path);
    if (!page && !run && !imported) return;
    Json one = {{"path", shown_path}, {"kind", kind_of(path)}, {"page", page}, {"scenario", nullptr}};
    if ((run || imported) && has(path, "scenario.yaml"))
      one["scenario"] = (path.lexically_relative(root) / "scenario.yaml").lexically_normal().generic_string();
    if (run) one.update(summary_of(path));
    found.push_back(std::move(one));
  });
  std::ranges::sort(found, {}, [](const Json& one) { return one["path"].get<std::string>(); });
  return found;
}

Json list_running(const fs::path& root) {
  std::vector<Json> found;
  each_entry(root, [&](const fs::path& folder, bool is_folder) {
    if (!is_folder || !is_hidden(folder) || !has(folder, LiveProgress::name) || found.size() >= most_results) return;
    const std::optional<std::string> name = run_that_writes_into(folder);
    if (!name) return;
    std::vector<Json> rows;
    FileLines lines(folder / LiveProgress::name);
    std::string_view line;
    lines.next(line);  // the names of the columns
    for (CsvSplitter splitter; lines.next(line);) {
      if (!splitter.split(line) || splitter.fields().size() != LiveProgress::columns) continue;  // not whole yet
      Json row = Json::array();
      for (const CsvField& field : splitter.fields()) {
        const std::optional<double> number = as_number(field.text);
        row.push_back(number && std::isfinite(*number) ? Json(*number) : Json());
      }
      rows.push_back(std::move(row));
    }
    // Evenly thinned, the last one kept.
    const std::size_t every = rows.size() / most_rows + 1;
    Json kept = Json::array();
    for (std::size_t i = 0; i < rows.size(); ++i)
      if ((rows.size() - 1 - i) % every == 0) kept.push_back(std::move(rows[i]));
    if (!kept.empty()) found.push_back({{"name", *name}, {"rows", std::move(kept)}});
  });
  return found;
}

std::optional<LineChart> live_chart(const std::string& name, const Json& rows) {
  LineChart chart;
  Curve curve{"test accuracy", 0, {}, {}};
  Json last;
  for (const Json& row : rows) {
    if (row[4].is_null() || row[4] == last) continue;
    last = row[4];
    ChartPoint& point = curve.points.emplace_back();
    point.x = row[0].get<double>();
    point.mean = row[4].get<double>();
    chart.x.numbers.push_back(point.x);
  }
  if (curve.points.size() < 2) return std::nullopt;
  chart.label = "Test accuracy of " + name + " so far";
  chart.x.title = "simulated time";
  chart.x.text = readable_seconds;
  chart.y_title = "test accuracy";
  chart.y_text = readable_number;
  chart.linear_x = chart.linear_y = true;
  chart.from_zero = chart.marks = false;
  chart.curves.push_back(std::move(curve));
  return chart;
}

std::optional<fs::path> served_file(const fs::path& root, std::string_view relative) {
  const fs::path given(relative);
  if (relative.empty() || relative.find('\0') != std::string_view::npos || given.is_absolute()) return std::nullopt;
  if (std::ranges::any_of(given, [](const fs::path& part) { return part.string().starts_with('.'); })) return std::nullopt;
  if (std::ranges::find(endings, given.extension().string()) == endings.end()) return std::nullopt;
  std::error_code error;
  const fs::path whole = fs::canonical(root / given, error);
  if (error) return std::nullopt;
  const fs::path place = fs::canonical(root, error);
  if (error || !fs::is_regular_file(whole, error)) return std::nullopt;
  const auto [in_place, in_whole] = std::ranges::mismatch(place, whole);
  if (in_place != place.end()) return std::nullopt;
  return whole;
}

}  // namespace straggler
