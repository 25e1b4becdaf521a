// Charts as data: safe between tags, thinned without losing extremes, one colour a scheme.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/report/figure.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/report/scheme_looks.hpp"
#include "scenarios/results/thinned.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace chart_data_test {
namespace {

using namespace straggler;

BarChart bars(const std::string& name) {
  BarChart chart{"Bars", "seconds", readable_seconds, {}};
  chart.rows.push_back({name, 0, false, 1.5, 0.25, "1.5 s"});
  return chart;
}

}  // namespace

TEST_CASE("no name ends the script element of a page's data") {
  const std::string name = "</script><script>alert('x')</script><!--";
  const std::string data = chart_data(bars(name));
  CHECK(data.find('<') == std::string::npos);
  const auto json = nlohmann::json::parse(data);
  CHECK(json["rows"][0]["name"] == name);
  CHECK(json["rows"][0]["low"] == 1.25);
  CHECK(json["rows"][0]["high"] == 1.75);
  CHECK(json["unit"] == "seconds");
  const std::string page = html_page("<b>", html_of(figure_of(name, name, bars(name))));
  CHECK(page.find("<script>alert") == std::string::npos);
}

TEST_CASE("thinned values hold the extremes of every stretch, both ends, and no more than allowed") {
  std::vector<double> values(100'000, 0.5);
  values[54'321] = -3;
  values[7] = 9;
  const std::vector<std::size_t> kept = thinned(values, 1'000);
  CHECK(kept.size() <= 1'000);
  CHECK(std::is_sorted(kept.begin(), kept.end()));
  const std::set<std::size_t> all(kept.begin(), kept.end());
  CHECK(all.size() == kept.size());
  for (const std::size_t i : {std::size_t{0}, std::size_t{7}, std::size_t{54'321}, std::size_t{99'999}}) CHECK(all.contains(i));
  CHECK(thinned(std::vector<double>{1, 2, 3}, 1'000) == std::vector<std::size_t>{0, 1, 2});
  CHECK(thinning_words(5, 5, "x").empty());
  CHECK(thinning_words(100'000, 1'000, "curve.csv").find("1,000 of 100,000 evaluations are drawn") != std::string::npos);
}

TEST_CASE("a scheme keeps its colour beside any others, and no two curves look the same") {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back("run " + std::to_string(i));
  names.emplace_back("asgd");
  names.emplace_back("ssgd, 4 workers");
  const std::vector<std::size_t> looks = scheme_looks(names);
  CHECK(std::set<std::size_t>(looks.begin(), looks.end()).size() == names.size());
  CHECK(looks[20] == scheme_looks({"asgd"}).front());
  CHECK(looks[21] == scheme_looks({"ssgd"}).front());
  CHECK(scheme_looks({"asgd", "ssgd"}).front() == scheme_looks({"asgd"}).front());
  // More schemes than colours, of which each begins at a colour of its own.
  const std::vector<SchemeEntry>& schemes = Registry<SchemeEntry>::instance().entries();
  std::vector<std::string> all;
  for (int copy = 0; copy < 3; ++copy)
    for (const SchemeEntry& each : schemes) all.push_back(each.name);
  const std::vector<std::size_t> many = scheme_looks(all);
  CHECK(std::set<std::size_t>(many.begin(), many.end()).size() == all.size());
}

TEST_CASE("a page forbids every request, and holds scripts only where it has charts") {
  const std::string bare = html_page("t", "<p>x</p>"), charted = html_page("t", html_of(figure_of("t", "", bars("a"))));
  for (const std::string& page : {bare, charted}) CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(bare.size() < 30'000);  // with sorted tables and the switch between light and dark
  CHECK(bare.find("enlivenTables = ") != std::string::npos);
  for (const std::string_view part : {"straggler.chart = ", "straggler.kinds = {", "straggler.selection = "}) {
    CHECK(bare.find(part) == std::string::npos);
    CHECK((charted.find(part) != std::string::npos) == charts_move());
  }
  CHECK((charted.find("Apache License") != std::string::npos) == charts_move());
  CHECK((charted.find("charts of this page are still pictures") == std::string::npos) == charts_move());
  CHECK(charted.size() < 2'000'000);
}

}  // namespace chart_data_test
