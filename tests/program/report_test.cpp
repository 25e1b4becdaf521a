#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace report_test {

using straggler::test::count;
using straggler::test::has;
using straggler::test::shown;
using straggler::test::Workplace;

namespace {

const std::string scenario = straggler::test::on_small_cluster(
    16, 3000, 500, "  stop: {epochs: 2, target_accuracy: 0.5, on_target: continue}\n  evaluate: {every: {epochs: 0.1}}\n");
const char* const sweep = R"(sweep: 1
name: try
scenario: small.yaml
axes:
  training.scheme: [ssgd, asgd]
  cluster.network.link.bandwidth: [1MB/s, 2MB/s]
  cluster.workers[0].count: [1, 2]
)";

}  // namespace

TEST_CASE("a run leaves a page, and `report` makes the same one again") {
  const Workplace place;
  place.write("small.yaml", scenario);
  REQUIRE(place.shell("straggler run small.yaml --out here --quiet --threads 2").code == 0);
  const std::string page = place.read("here/report.html");
  for (const char* const part :
       {"<h1>small</h1>", "Simulated: asynchronous SGD (asgd) on 3 workers, ", "Test and train accuracy over simulated time",
        "Where the time of each worker went", "worker 2, node", "Staleness", "Links by use", "name: small"})
    CHECK_MESSAGE(has(page, part), part);
  CHECK_FALSE(has(shown(page), "http://"));
  CHECK_FALSE(has(shown(page), "https://"));
  CHECK(has(page, "default-src 'none'"));  // the browser tests look at what it asks for
  CHECK(has(page, "Who computes, sends and waits"));
  // What its first sentences say is what summary.json says.
  const auto accuracy = place.summary("here").at("final_test_accuracy").get<double>();
  char expected[32];
  std::snprintf(expected, sizeof expected, "at a test accuracy of %.4f.", accuracy);
  CHECK(has(page, expected));
  REQUIRE(place.shell("rm here/report.html && straggler report here").code == 0);
  CHECK((place.read("here/report.html") == page));
  REQUIRE(place.shell("straggler run small.yaml --out again --quiet --threads 1").code == 0);
  CHECK((place.read("again/report.html") == page));
}

TEST_CASE("a run of timing alone has a page without accuracies") {
  const Workplace place;
  place.write("small.yaml", scenario);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --out here --quiet").code == 0);
  const std::string page = place.read("here/report.html");
  CHECK(has(page, "Where the time of each worker went"));
  CHECK_FALSE(has(shown(page), "accuracy over"));
}

TEST_CASE("links that are hardly used have a share that is not 0.0 %") {
  const Workplace place;
  place.write("small.yaml", scenario);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --set cluster.network.link.bandwidth=100Gbps --out here --quiet").code == 0);
  const std::string page = place.read("here/report.html");
  CHECK(has(page, "Links by use"));
  CHECK_FALSE(has(shown(page), ">0.0 %"));
}

TEST_CASE("a sweep leaves a page and a map, and `report` makes the same ones again") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("sweep.yaml", sweep);
  REQUIRE(place.shell("straggler sweep sweep.yaml --out here --no-store --quiet").code == 0);
  const std::string page = place.read("here/report.html"), map = place.read("here/map.svg");
  CHECK(has(page, "<h1>try</h1>"));
  CHECK(has(map, ">ssgd</text>"));
  const Workplace::Done done = place.shell("rm here/report.html here/map.svg && straggler report here");
  REQUIRE(done.code == 0);
  CHECK(done.out == "here/report.html\nhere/map.svg\n");
  CHECK((place.read("here/report.html") == page));
  CHECK((place.read("here/map.svg") == map));
  REQUIRE(place.shell("straggler report here -o other.html").code == 0);
  CHECK((place.read("other.html") == page));
}

TEST_CASE("a search leaves a page, and `report` makes the same one again; a sweep's old map goes") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("sweep.yaml", sweep);
  REQUIRE(place.shell("straggler sweep sweep.yaml --timing-only --out here --no-store --quiet").code == 0);
  REQUIRE(std::filesystem::exists(place.folder() / "here/map.svg"));
  place.write("sweep.yaml", R"(sweep: 1
name: which
scenario: small.yaml
find: {metric: samples_per_second, over: {"cluster.workers[0].count": {from: 1, to: 4, whole: true}}, repeats: 2}
)");
  REQUIRE(place.shell("straggler sweep sweep.yaml --out here --force --no-store --quiet").code == 0);
  CHECK_FALSE(std::filesystem::exists(place.folder() / "here/map.svg"));
  const std::string page = place.read("here/report.html");
  CHECK(has(page, "<h1>which</h1>"));
  CHECK(has(page, "Samples per second over workers"));
  REQUIRE(place.shell("rm here/report.html && straggler report here").code == 0);
  CHECK((place.read("here/report.html") == page));
  const Workplace::Done done = place.shell("mkdir pages && straggler report here -o pages/other.html");
  CHECK(done.out == "pages/other.html\n");
  CHECK(has(place.read("pages/other.html"), "<a href=\"../here/find.csv\">"));
  place.write("sweep.yaml", R"(sweep: 1
name: where
scenario: small.yaml
crossover: {between: [asgd, ssgd], along: cluster.network.link.bandwidth, from: 10kB/s, to: 10MB/s, metric: samples_per_second}
)");
  REQUIRE(place.shell("straggler sweep sweep.yaml --out there --no-store --quiet --jobs 2").code == 0);
  CHECK(
      has(place.read("there/report.html"), "Where along bandwidth (10kB/s to 10MB/s) has scenario small the most samples per second with"));
}

TEST_CASE("a race leaves a page, and `report` makes the same one again") {
  const Workplace place;
  place.write("small.yaml", scenario);
  const std::string race =
      "straggler race small.yaml --schemes ssgd,asgd --timing-only --set training.stop.epochs=1 --seeds 3 --no-store --quiet ";
  REQUIRE(place.shell(race + "--out here").code == 0);
  const std::string page = place.read("here/report.html");
  CHECK(has(page, "<h1>small: a race</h1>"));
  CHECK(has(page, "Time an epoch: "));
  REQUIRE(place.shell("rm here/report.html && straggler report here").code == 0);
  CHECK((place.read("here/report.html") == page));
}

TEST_CASE("where the scenario of a run is of another version, report warns, and the page and a comparison say what they lack") {
  const Workplace place;
  place.write("small.yaml", scenario);
  for (const char* const folder : {"here", "there"})
    REQUIRE(place.shell("straggler run small.yaml --quiet --out " + std::string(folder)).code == 0);
  const std::string described = place.read("here/scenario.yaml"), first = "straggler: 1";
  REQUIRE(described.starts_with(first));
  place.write("here/scenario.yaml", "straggler: 2\nwhat: ever" + described.substr(first.size()));
  const std::string why = "scenario.yaml:1:12: straggler: is '2'; this program reads version 1 of the format only";
  const Workplace::Done done = place.shell("straggler report here");
  CHECK(done.code == 0);
  CHECK(done.err == "warning: here/" + why + "; the page has no timeline\n");
  const std::string page = place.read("here/report.html");
  CHECK(has(page, "There is no timeline: scenario.yaml:1:12: "));
  CHECK(has(page, "Test and train accuracy over simulated time"));
  CHECK(place.shell("straggler report here --quiet").err.empty());
  const std::string compared = place.shell("straggler compare here there").out;
  CHECK(has(compared, "note: here/" + why + "; its data and model are not compared\n"));
  CHECK(count(compared, "not compared") == 1);
}

TEST_CASE("refusals of report, in one line each") {
  const Workplace place;
  const auto refused = [&](const std::string& arguments, const std::string& line) {
    CAPTURE(arguments);
    const Workplace::Done done = place.shell("straggler report " + arguments);
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CHECK(has(done.err, line));
  };
  refused("", "RESULT_DIR");
  refused("nowhere", "nowhere: holds no summary.json of a run");
  place.write("small.yaml", scenario);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --out here --quiet").code == 0);
  refused("here -o .", "--out .: is a folder; name a file");
  place.write("here/curve.csv", "time_s,epoch\n1,2,3\n");
  refused("here", "here/curve.csv:2: has 3 cells; the header has 2");
  place.shell("rm here/curve.csv");
  refused("here", "here/curve.csv: is missing or cannot be read");
  place.write("here/summary.json", "{");
  refused("here", "here/summary.json: is not JSON");
  place.shell("mkdir damaged");
  place.write("damaged/sweep.sqlite", std::string(5000, 'y'));
  refused("damaged", "sweep.sqlite: the state of the sweep cannot be used");
  place.shell("mkdir early && touch early/race.sqlite");
  refused("early", "early/race.sqlite: the race has not finished, or an earlier version ran it; run the race again");
}

TEST_CASE("runs side by side have one page, with all curves in each picture") {
  const Workplace place;
  place.write("small.yaml", scenario);
  REQUIRE(place.shell("straggler run small.yaml --out \"<b>\" --quiet --threads 2").code == 0);
  REQUIRE(place.shell("straggler run small.yaml --out two --set training.scheme=ssgd --quiet --threads 2").code == 0);
  const auto told = place.shell("straggler compare \"<b>\" two --out both");
  REQUIRE(told.code == 0);
  CHECK(told.out.ends_with("\npage: both/report.html\n"));
  const std::string page = place.read("both/report.html");
  CHECK(has(page, "<h1>2 runs, side by side</h1>"));
  // Of one name, they are told apart by their folders, whose names are text.
  CHECK(has(page, "&lt;b&gt;"));
  CHECK_FALSE(has(shown(page), "<b>"));
  CHECK(has(page, "href=\"../two/report.html\""));
  std::size_t at = page.find("<h3>Test accuracy</h3>");
  REQUIRE(at != std::string::npos);
  const std::string figure = page.substr(at, page.find("</figure>", at) - at);
  for (const char* const title :
       {"Test accuracy over simulated time", "Test accuracy over epochs", "Test accuracy over updates", "Test accuracy over bytes sent"}) {
    CAPTURE(title);
    const std::size_t label = figure.find(std::string("aria-label=\"") + title);
    REQUIRE(label != std::string::npos);
    const std::string picture = figure.substr(label, figure.find("</svg>", label) - label);
    // Either run is named, and has a line.
    for (const char* const name : {">two</text>", ">&lt;b&gt;</text>"}) CHECK(has(picture, name));
    CHECK(straggler::test::count(picture, "<polyline ") >= 2);
  }
  // What the script draws has both, in other colours, over time, epochs, updates and bytes.
  const std::size_t data = figure.find("{\"kind\":\"line\"");
  REQUIRE(data != std::string::npos);
  const auto chart = nlohmann::json::parse(figure.substr(data, figure.find("</script>", data) - data));
  REQUIRE(chart["series"].size() == 2);
  CHECK(chart["series"][0]["look"] != chart["series"][1]["look"]);
  CHECK(chart["x"].size() == 4);
  CHECK(has(page, "time went</h3>"));
  // A run without the math has no curve, which is said.
  REQUIRE(place.shell("straggler run small.yaml --out timed --set name=timed --timing-only --quiet").code == 0);
  REQUIRE(place.shell("straggler compare two timed --out mixed").code == 0);
  CHECK(has(place.read("mixed/report.html"), "Not in the pictures, with fewer than two values of test accuracy:"));
  // `report` of several runs makes the same page.
  const auto reported = place.shell("straggler report \"<b>\" two -o both/again.html");
  REQUIRE(reported.code == 0);
  CHECK((place.read("both/again.html") == page));
  // Into the current folder, as the help shows it: links start there.
  for (const char* const where : {"", " -o compared.html", " -o ./compared.html"}) {
    CAPTURE(where);
    CHECK(place.shell(std::string("straggler report two \"<b>/\"") + where).code == 0);
    CHECK(has(place.read("compared.html"), "href=\"two/report.html\""));
  }
  // The default name: an earlier page of other runs is replaced with a note, the file of somebody else is not; -o names any.
  const auto again = place.shell("straggler report two \"<b>/\"");
  CHECK(again.code == 0);
  CHECK(again.err.empty());
  const auto others = place.shell("straggler report two two");
  CHECK(others.code == 0);
  CHECK(has(others.err, "note: compared.html: replaces an earlier page; -o names another file\n"));
  CHECK(place.shell("straggler report two \"<b>/\" --quiet").err.empty());
  place.write("compared.html", "mine\n");
  const auto foreign = place.shell("straggler report two \"<b>/\"");
  CHECK(foreign.code == 2);
  CHECK(foreign.err == "straggler: compared.html: is no page of `straggler report`; name another file with -o\n");
  CHECK(place.read("compared.html") == "mine\n");
  CHECK(place.shell("straggler report two \"<b>/\" -o compared.html").code == 0);
  CHECK(has(place.read("compared.html"), "href=\"two/report.html\""));
  for (const char* const command : {"report \"\" two", "report \"\"", "compare two \"\"", "run \"\"", "init \"\""}) {
    CAPTURE(command);
    const auto empty = place.shell(std::string("straggler ") + command);
    CHECK(empty.code == 2);
    CHECK(has(empty.err, "straggler: an argument is empty; "));
  }
  CHECK(has(place.shell("straggler sweep --merge \"\" --out merged").err, "straggler: --merge names an empty folder; "));
  CHECK(has(place.shell("straggler allreduce --scenario \"\"").err, "straggler: --scenario is empty; name a file"));
  // A run's own page is not replaced, and a folder of other files gets none; that of an earlier comparison is.
  const auto refused = [&](const std::string& out, const std::string& why) {
    CAPTURE(out);
    const auto done = place.shell("straggler compare two \"<b>\" --out " + out);
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CHECK(has(done.err, why));
  };
  refused("two", "two: holds a run, whose page would be replaced; choose another folder with --out");
  refused(".", ".: is not empty and holds no page of straggler compare; use --out DIR");
  refused("\"\"", "--out is empty; name a folder");
  refused("small.yaml", "small.yaml: is a file, not a folder; choose another with --out");
  REQUIRE(place.shell("mkdir used empty && echo mine > used/report.html").code == 0);
  refused("used", "used: is not empty and holds no page of straggler compare; use --out used-2");
  CHECK(place.read("used/report.html") == "mine\n");
  CHECK(place.shell("straggler compare two \"<b>\" --out both").code == 0);
  CHECK(place.shell("straggler compare two \"<b>\" --out empty/").code == 0);
  // Runs of timing alone have no curves, and say so.
  for (const char* const scheme : {"ssgd", "asgd"})
    REQUIRE(place
                .shell(std::string("straggler run small.yaml --timing-only --quiet --set training.scheme=") + scheme +
                       " --set name=" + scheme + " --out timed-" + scheme)
                .code == 0);
  REQUIRE(place.shell("straggler compare timed-ssgd timed-asgd --out rates").code == 0);
  const std::string timed = place.read("rates/report.html");
  CHECK_FALSE(has(shown(timed), "<h3>Test"));
  CHECK(has(timed, "they show how fast samples are processed"));
}

}  // namespace report_test
