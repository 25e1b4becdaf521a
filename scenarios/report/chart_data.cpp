#include <algorithm>

#include "scenarios/report/chart_json.hpp"
#include "scenarios/report/charts.hpp"

namespace straggler {
namespace {

/// As the still picture has it.
bool logarithmic(const std::vector<double>& values, bool from_zero) {
  return !values.empty() && Scale(values, 0, 1, from_zero).logarithmic();
}

ChartJson axis_json(const NumberAxis& axis, bool log, bool zero) {
  ChartJson json = {{"title", axis.title}, {"unit", axis.text ? unit_of(axis.text) : "number"}, {"log", log}, {"zero", zero}};
  for (std::size_t i = 0; i < axis.labels.size(); ++i) json["labels"].push_back({chart_number(axis.numbers[i]), axis.labels[i]});
  return json;
}

ChartJson curve_json(const Curve& curve) {
  ChartJson json = {{"name", curve.name}, {"look", curve.colour}, {"line", curve.joined}, {"points", ChartJson::array()}};
  if (curve.points.empty() && !curve.range.empty()) {  // an area alone
    json["area"] = json["band"] = true;
    for (const auto& [x, low, high] : curve.range)
      json["points"].push_back({chart_number(x), chart_number((low + high) / 2), chart_number(low), chart_number(high)});
    return json;
  }
  for (const ChartPoint& point : curve.points) {
    ChartJson row = {chart_number(point.x), chart_number(point.mean)};
    if (point.has_interval()) {
      row.push_back(chart_number(point.low()));
      row.push_back(chart_number(point.high()));
    }
    json["points"].push_back(std::move(row));
  }
  if (std::any_of(curve.points.begin(), curve.points.end(), [](const ChartPoint& point) { return !point.tip.empty(); }))
    for (const ChartPoint& point : curve.points) json["tips"].push_back(point.tip);
  if (std::any_of(curve.points.begin(), curve.points.end(), [](const ChartPoint& point) { return !point.link.empty(); }))
    for (const ChartPoint& point : curve.points) json["links"].push_back(point.link);
  for (const double missed : curve.missed) json["missed"].push_back(chart_number(missed));
  for (const CurveNote& note : curve.notes)
    json["notes"].push_back({{"x", chart_number(note.x)}, {"y", chart_number(note.y)}, {"text", note.text}});
  return json;
}

ChartJson learning_json(const LearningCurve& curve) {
  ChartJson series = {{"name", curve.name}, {"look", curve.colour}, {"points", ChartJson::array()}};
  bool band = false;
  for (const LearningPoint& point : curve.points) {
    ChartJson row = ChartJson::array();
    for (const double x : point.x) row.push_back(chart_number(x));
    row.push_back(chart_number(point.value));
    if (point.low && point.high) {
      row.push_back(chart_number(*point.low));
      row.push_back(chart_number(*point.high));
      band = true;
    }
    series["points"].push_back(std::move(row));
  }
  if (band) series["band"] = true;
  if (curve.best) series["best"] = true;
  if (!curve.link.empty()) series["link"] = curve.link;
  for (const double x : curve.reached) series["reached"].push_back(chart_number(x));
  if (!curve.reached_by.empty()) series["reachedBy"] = curve.reached_by;
  for (const auto& [key, value] : curve.keys) series["keys"][key] = value;
  return series;
}

ChartJson interval_json(const IntervalRow& row) {
  ChartJson json = {{"name", row.name}, {"text", row.text}};
  if (row.colour) json["look"] = *row.colour;
  if (row.missed) {
    json["missed"] = true;
    return json;
  }
  json["value"] = chart_number(row.value);
  json["low"] = chart_number(row.low);
  json["high"] = chart_number(row.high);
  if (row.hollow) json["hollow"] = true;
  if (!row.tip.empty()) json["tip"] = row.tip;
  if (!row.link.empty()) json["link"] = row.link;
  return json;
}

}  // namespace

std::string chart_data(const LineChart& chart) {
  std::vector<double> ys;
  for (const Curve& curve : chart.curves)
    for (const ChartPoint& point : curve.points) ys.insert(ys.end(), {point.mean, point.high()});
  const bool log_x = !chart.linear_x && logarithmic(chart.x.numbers, chart.x_from_zero);
  const bool log_y = !chart.linear_y && logarithmic(ys, chart.from_zero);
  ChartJson json = {{"kind", "line"}, {"label", chart.label}, {"marks", chart.marks}};
  if (chart.square) json["square"] = true;
  json["x"].push_back(axis_json(chart.x, log_x, chart.x_from_zero && !log_x));
  json["y"] = {{"title", chart.y_title}, {"unit", unit_of(chart.y_text)}, {"log", log_y}, {"zero", chart.from_zero && !log_y}};
  json["series"] = ChartJson::array();
  for (const Curve& curve : chart.curves)
    if (!curve.points.empty() || !curve.missed.empty() || !curve.range.empty()) json["series"].push_back(curve_json(curve));
  for (const auto& [x, y] : chart.ideal) json["ideal"].push_back({chart_number(x), chart_number(y)});
  if (!chart.ideal_name.empty()) json["idealName"] = chart.ideal_name;
  for (const Band& band : chart.bands) json["bands"].push_back({chart_number(band.from), chart_number(band.to), band.name});
  return chart_text(json);
}

std::string chart_data(const LearningChart& chart) {
  ChartJson json = {{"kind", "line"}, {"label", chart.label}, {"marks", false}};
  for (const auto& [title, text] : chart.axes) json["x"].push_back({{"title", title}, {"unit", unit_of(text)}, {"log", false}});
  json["y"] = {{"title", chart.y_title}, {"unit", "number"}, {"log", !chart.linear_y}};
  if (!chart.linear_y) {
    std::vector<double> values;
    for (const LearningCurve& curve : chart.curves)
      for (const LearningPoint& point : curve.points) values.push_back(point.value);
    json["y"]["log"] = logarithmic(values, false);
  }
  if (chart.crop != Crop::none) json["crop"] = chart.crop == Crop::both ? "xy" : "y";
  for (const LearningEvent& event : chart.events)
    json["events"].push_back({chart_number(event.seconds), event.through ? 1 : 0, event.name});
  if (!chart.group.empty()) json["group"] = chart.group;
  json["series"] = ChartJson::array();
  for (const LearningCurve& curve : chart.curves) json["series"].push_back(learning_json(curve));
  for (const LearningCurve& run : chart.runs) json["runs"].push_back(learning_json(run));
  if (!chart.runs.empty())
    for (const auto& [key, value] : chart.runs.front().keys) json["keys"].push_back(key);
  if (chart.target) {
    json["idealFlat"] = chart_number(*chart.target);
    json["ideal"] = true;
    json["idealName"] = chart.target_name;
  }
  return chart_text(json);
}

std::string chart_data(const MapChart& chart) {
  static constexpr const char* kinds[] = {"winner", "level", "tie", "nobody", "nothing"};
  ChartJson json = {{"kind", "map"},
                    {"label", chart.label},
                    {"x", {{"title", chart.x_title}, {"labels", chart.x_labels}}},
                    {"y", {{"title", chart.y_title}, {"labels", chart.y_labels}}},
                    {"series", chart.series},
                    {"looks", chart.looks}};
  if (const auto& scale = chart.scale)
    json["scale"] = {{"title", scale->title},
                     {"unit", unit_of(scale->text)},
                     {"low", chart_number(scale->low)},
                     {"high", chart_number(scale->high)},
                     {"less", scale->less_is_better}};
  for (const auto& row : chart.cells) {
    ChartJson cells = ChartJson::array();
    for (const MapCell& cell : row) {
      ChartJson one = {{"kind", kinds[static_cast<std::size_t>(cell.kind)]}, {"lines", cell.lines}};
      if (cell.kind == MapCell::Kind::winner) one["look"] = cell.series < chart.looks.size() ? chart.looks[cell.series] : 0;
      if (cell.kind == MapCell::Kind::level) one["level"] = chart_number(cell.level);
      if (cell.best) one["best"] = true;
      if (!cell.tip.empty()) one["tip"] = cell.tip;
      if (!cell.link.empty()) one["link"] = cell.link;
      cells.push_back(std::move(one));
    }
    json["cells"].push_back(std::move(cells));
  }
  return chart_text(json);
}

std::string chart_data(const StackChart& chart) {
  ChartJson json = {
      {"kind", "stack"}, {"label", chart.label}, {"title", chart.title}, {"unit", unit_of(chart.text)}, {"names", chart.names}};
  for (const StackPart& part : chart.parts) json["parts"].push_back({{"name", part.name}, {"look", part.colour}});
  if (!chart.links.empty()) json["links"] = chart.links;
  if (!chart.group.empty()) json["group"] = chart.group;
  if (chart.best) json["best"] = *chart.best;
  for (const auto& values : chart.values) {
    ChartJson row = ChartJson::array();
    for (const double value : values) row.push_back(chart_number(value));
    json["values"].push_back(std::move(row));
  }
  return chart_text(json);
}

std::string chart_data(const IntervalChart& chart) {
  std::vector<double> values;
  ChartJson json = {{"kind", "intervals"},         {"label", chart.label},    {"title", chart.title},
                    {"unit", unit_of(chart.text)}, {"zero", chart.from_zero}, {"interval", chart.interval}};
  if (chart.reference) {
    json["reference"] = chart_number(*chart.reference);
    values.push_back(*chart.reference);
  }
  for (const IntervalGroup& group : chart.groups) {
    ChartJson rows = ChartJson::array();
    for (const IntervalRow& row : group.rows) {
      rows.push_back(interval_json(row));
      if (row.missed) continue;
      values.insert(values.end(), {row.value, row.high});
      if (row.low > 0) values.push_back(row.low);
    }
    json["groups"].push_back({{"title", group.title}, {"rows", std::move(rows)}});
  }
  json["log"] = logarithmic(values, chart.from_zero);
  return chart_text(json);
}

std::string chart_data(const HeatChart& chart) {
  ChartJson json = {{"kind", "heat"},
                    {"label", chart.label},
                    {"title", chart.title},
                    {"unit", unit_of(chart.text)},
                    {"least", chart_number(chart.least)},
                    {"x", {{"title", chart.x_title}, {"labels", ChartJson::array()}}},
                    {"y", {{"title", chart.y_title}, {"labels", chart.y_labels}}},
                    {"values", ChartJson::array()}};
  for (const double x : chart.x) json["x"]["labels"].push_back(fmt::format("{}", x));
  for (const std::vector<double>& row : chart.values) {
    ChartJson cells = ChartJson::array();
    for (const double value : row) cells.push_back(chart_number(value));
    json["values"].push_back(std::move(cells));
  }
  return chart_text(json);
}

std::string chart_data(const BarChart& chart) {
  ChartJson json = {
      {"kind", "bars"}, {"label", chart.label}, {"title", chart.title}, {"unit", unit_of(chart.text)}, {"rows", ChartJson::array()}};
  if (!chart.group.empty()) json["group"] = chart.group;
  for (const BarRow& row : chart.rows) {
    ChartJson one = {{"name", row.name}, {"look", row.colour}, {"text", row.text}};
    if (row.best) one["best"] = true;
    if (!row.link.empty()) one["link"] = row.link;
    if (row.missed) {
      one["missed"] = true;
    } else {
      one["value"] = chart_number(row.mean);
      if (row.half_width > 0) {
        one["low"] = chart_number(row.mean - row.half_width);
        one["high"] = chart_number(row.mean + row.half_width);
      }
    }
    json["rows"].push_back(std::move(one));
  }
  return chart_text(json);
}

}  // namespace straggler
