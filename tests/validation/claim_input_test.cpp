// Claims and tables that are wrong: one line each, at its place.
#include <doctest/doctest.h>

#include "tests/validation/claim_support.hpp"
#include "validation/tables/csv_table.hpp"

using namespace straggler;
using test::Files;
using test::said;

namespace {

struct Parts {
  std::string head = "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: measured.csv\n";
  std::string bind = "bind: {nodes: \"cluster.workers[0].count\"}\n";
  std::string where = "";
  std::string compare = "compare: {column: seconds, metric: simulated_seconds}\n";
  std::string fit = "fit: {parameters: [{path: cluster.servers.per_message, from: 1us, to: 1s}], rows: [{nodes: 1}]}\n";
  std::string bound = "bound: {mape: 1%}\n";
  std::string text() const { return head + bind + where + compare + fit + bound; }
};

const char* good_table = "nodes,seconds,kind\n1,4,a\n2,3,b\n4,2,b\n";

std::string wrong(const Parts& parts, const std::string& table = good_table) {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  files.write("measured.csv", table);
  return test::refusal(files, parts.text());
}

bool starts(const std::string& text, const std::string& beginning) {
  CAPTURE(text);
  CHECK(text.find('\n') == std::string::npos);
  return text.rfind(beginning, 0) == 0;
}

}  // namespace

TEST_CASE("of a claim of another version nothing else is said") {
  Parts parts;
  parts.head = "claim: 2\nname: t\n";
  CHECK(wrong(parts) == "claim.yaml:1:8: claim: is '2'; this program reads version 1 of the format only");
  Parts quoted;
  quoted.head.replace(0, 8, "claim: '1'");
  CHECK(wrong(quoted) == "claim.yaml:1:8: claim: is text in quotes; write 1, without quotes");
}

TEST_CASE("the parts that the other cases change are right") { CHECK(wrong(Parts()) == ""); }

TEST_CASE("invalid claims") {
  Parts parts;
  SUBCASE("unknown key") {
    parts.bound += "titel: t\n";
    CHECK(starts(wrong(parts), "claim.yaml:9:1: titel: unknown key 'titel'; did you mean 'title'?"));
  }
  SUBCASE("unknown metric") {
    parts.compare = "compare: {column: seconds, metric: simulated_second}\n";
    CHECK(starts(wrong(parts), "claim.yaml:6:28: compare.metric: unknown metric 'simulated_second'; did you mean 'simulated_seconds'?"));
  }
  SUBCASE("a word is no metric") {
    parts.compare = "compare: {column: seconds, metric: outcome}\n";
    CHECK(starts(wrong(parts), "claim.yaml:6:28: compare.metric: unknown metric 'outcome'"));
  }
  SUBCASE("a unit of another kind") {
    const auto with = [&](const std::string& metric) {
      parts.compare = "compare: {column: seconds, " + metric + "}\n";
      return wrong(parts);
    };
    CHECK(starts(with("metric: simulated_seconds, unit: MB"),
                 "claim.yaml:6:55: compare.unit: simulated_seconds is a time, and MB measures a size; write a unit of that kind: s, ms"));
    CHECK(starts(with("metric: samples_per_second, unit: s"),
                 "claim.yaml:6:56: compare.unit: samples_per_second is a plain number, and s measures a time; remove the unit"));
    CHECK(starts(with("metric: simulated_seconds, unit: \"%\""),
                 "claim.yaml:6:55: compare.unit: simulated_seconds is a time, and % measures a share"));
    CHECK(starts(with("metric: bytes_sent, divide_by: simulated_seconds, unit: MB"),
                 "claim.yaml:6:78: compare.unit: bytes_sent divided by simulated_seconds is a rate, and MB"));
    CHECK(starts(with("metric: updates, divide_by: simulated_seconds, unit: s"),
                 "claim.yaml:6:75: compare.unit: updates divided by simulated_seconds is a quantity that no unit here measures"));
    CHECK(with("metric: bytes_sent, divide_by: simulated_seconds, unit: MB/s") == "");
    CHECK(with("metric: simulated_seconds, divide_by: updates, unit: ms") == "");
    CHECK(with("metric: loading_total_s, divide_by: simulated_seconds, unit: \"%\"") == "");
  }
  SUBCASE("no bound") {
    parts.bound = "";
    CHECK(starts(wrong(parts), "claim.yaml:1:1: bound: is missing; write the largest error"));
  }
  SUBCASE("an empty bound") {
    parts.bound = "bound: {}\n";
    CHECK(starts(wrong(parts), "claim.yaml:8:1: bound: bounds nothing"));
  }
  SUBCASE("a share above 1 without %") {
    parts.bound = "bound: {mape: 5, max: 7.5}\n";
    const std::string text = wrong(parts);
    CHECK(text.find("claim.yaml:8:9: bound.mape: '5' is a share above 1; write 5%, or 500% if that is meant") == 0);
    CHECK(text.find("\nclaim.yaml:8:18: bound.max: '7.5' is a share above 1; write 7.5%, or 750% if") != std::string::npos);
    for (const char* right : {"{mape: 500%}", "{mape: 1}", "{mape: 0.05, max: 120 %}"}) {
      parts.bound = std::string("bound: ") + right + "\n";
      CHECK(wrong(parts) == "");
    }
  }
  SUBCASE("a range upside down") {
    parts.fit = "fit: {parameters: [{path: cluster.servers.per_message, from: 1s, to: 1us}], rows: [{nodes: 1}]}\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:66: fit.parameters[0].to: is not above from"));
  }
  SUBCASE("a range of two kinds") {
    parts.fit = "fit: {parameters: [{path: cluster.servers.per_message, from: 1s, to: 1MB}], rows: [{nodes: 1}]}\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:66: fit.parameters[0].to: is not of the kind that from is"));
  }
  SUBCASE("math without math") {
    parts.compare = "compare: {column: seconds, metric: final_test_accuracy}\ntiming_only: true\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:1: timing_only: is true, and final_test_accuracy needs the math"));
  }
  SUBCASE("a time to a target without a target") {
    parts.compare = "compare: {column: seconds, metric: time_to_target_s}\n";
    CHECK(starts(wrong(parts),
                 "claim.yaml:6:1: compare.metric: time_to_target_s needs a target, and the scenario has none; set "
                 "training.stop.target_accuracy"));
    parts.head += "set: {training.stop.target_accuracy: 0.5}\n";
    CHECK(wrong(parts) == "");
  }
  SUBCASE("a fixed value without the value, a source that says nothing, attempt 0") {
    const std::string head = parts.head;
    parts.head = head + "set: {training.batch.per_worker: {source: me}}\n";
    CHECK(starts(wrong(parts), "claim.yaml:5:7: set.training.batch.per_worker.value: is missing; write the value for the path"));
    parts.head = head + "set: {training.batch.per_worker: {value: 10, source: \" \"}}\n";
    CHECK(starts(wrong(parts), "claim.yaml:5:46: set.training.batch.per_worker.source: is ' '; write the source"));
    parts.head = head + "set: {training.batch.per_worker: {value: 10, sauce: me}}\n";
    CHECK(starts(wrong(parts), "claim.yaml:5:46: set.training.batch.per_worker.sauce: unknown key 'sauce'; known: value, source"));
    parts.head = head + "attempt: 0\n";
    CHECK(starts(wrong(parts), "claim.yaml:5:10: attempt: 0 is out of range"));
  }
  SUBCASE("spread and repeats that are none") {
    parts.compare = "compare: {column: seconds, metric: simulated_seconds, std: kind}\n";
    CHECK(wrong(parts).find("measured.csv:2:5: kind: 'a' is not a number; write a plain number") == 0);
    parts.compare = "compare: {column: seconds, metric: simulated_seconds, repeats: 0.5}\n";
    CHECK(starts(wrong(parts), "claim.yaml:6:55: compare.repeats: is below 1"));
    parts.compare = "compare: {column: seconds, metric: simulated_seconds, std: nodes, repeats: kinds}\n";
    CHECK(starts(wrong(parts), "claim.yaml:6:1: compare.repeats: unknown column 'kinds'; did you mean 'kind'?"));
    parts.compare = "compare: {column: seconds, metric: simulated_seconds, std: nodes}\n";
    CHECK(starts(wrong(parts, "nodes,seconds,kind\n0,4,a\n2,3,b\n"), "measured.csv:2:1: nodes: is not above 0, and a row without spread"));
  }
  SUBCASE("files that are not there, where the claim names them") {
    parts.head = "claim: 1\ntitle: t\nscenario: no.yaml\nmeasured: measured.csv\n";
    CHECK(starts(wrong(parts), "claim.yaml:3:1: scenario: no.yaml: cannot be read: No such file"));
    parts.head = "claim: 1\ntitle: t\nscenario: scenario.yaml\nmeasured: no.csv\n";
    CHECK(starts(wrong(parts), "claim.yaml:4:1: measured: no.csv: cannot be read: No such file"));
  }
  SUBCASE("two mistakes, two lines") {
    parts.compare = "compare: {column: seconds, metric: simulated_second, unit: parsec}\n";
    const std::string text = wrong(parts);
    CHECK(text.find("unknown metric") != std::string::npos);
    CHECK(text.find("\nclaim.yaml:6:54: compare.unit: unknown unit 'parsec'") != std::string::npos);
  }
}

TEST_CASE("a repeated measurement of a fitted row is not held out") {
  Parts parts;
  parts.fit = "fit: {parameters: [{path: cluster.servers.per_message, from: 1us, to: 1s}], rows: [{seconds: 4}]}\n";
  const std::string again = "nodes,seconds,kind\n1,4,a\n1,5,a\n2,3,b\n";
  CHECK(starts(wrong(parts, again),
               "claim.yaml:7:84: fit.rows: holds out 'nodes=1, line 3', which has the settings of the fitted 'nodes=1'"));
  parts.where = "where: {seconds: [4, 3]}\n";
  CHECK(wrong(parts, again) == "");
}

TEST_CASE("a change that a later one would replace is reported") {
  Parts parts;
  SUBCASE("a fit over a bind") {
    parts.bind = "bind: {nodes: cluster.servers.per_message}\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:20: fit.parameters[0]: cluster.servers.per_message replaces what bind.nodes sets"));
  }
  SUBCASE("a bind over a part of it") {
    parts.bind = "bind: {nodes: \"cluster.workers[0].count\", seconds: cluster.workers}\n";
    CHECK(starts(wrong(parts), "claim.yaml:5:43: bind.seconds: cluster.workers replaces what bind.nodes sets"));
  }
  SUBCASE("two parameters") {
    parts.fit =
        "fit: {parameters: [{path: cluster.servers.per_message, from: 1us, to: 1s}, {paths: [cluster.servers.per_message], from: 1us, to: "
        "1s}], rows: [{nodes: [1, 2]}]}\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:76: fit.parameters[1]: cluster.servers.per_message replaces what fit.parameters[0] sets"));
  }
  SUBCASE("a path that only begins alike") {
    parts.bind = "bind: {nodes: \"cluster.workers[0].count\", seconds: cluster.servers.per_message_overhead}\n";
    CHECK(wrong(parts).find("replaces") == std::string::npos);
  }
}

TEST_CASE("claims that do not fit their table") {
  Parts parts;
  SUBCASE("a missing column") {
    parts.bind = "bind: {nodez: \"cluster.workers[0].count\"}\n";
    CHECK(starts(wrong(parts),
                 "claim.yaml:5:8: bind: unknown column 'nodez'; did you mean 'nodes'? known: nodes, seconds, kind (measured.csv)"));
  }
  SUBCASE("where leaves nothing") {
    parts.where = "where: {kind: c}\n";
    CHECK(starts(wrong(parts), "claim.yaml:6:8: where: leaves no row of measured.csv; kind has 'a', 'b'"));
  }
  SUBCASE("a fit row that matches nothing") {
    parts.fit = "fit: {parameters: [{path: cluster.servers.per_message, from: 1us, to: 1s}], rows: [{nodes: 1}, {nodes: 3}]}\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:96: fit.rows[1]: matches no row that the claim uses; nodes has 1, 2, 4"));
    std::string many = "nodes,seconds,kind\n";
    for (int nodes = 10; nodes < 20; ++nodes) many += std::to_string(nodes) + ",4,a\n";
    parts.fit = "fit: {parameters: [{path: cluster.servers.per_message, from: 1us, to: 1s}], rows: [{nodes: 3, kind: a}]}\n";
    CHECK(wrong(parts, many).find("; nodes has 10, 11, 12, 13, 14, 15, 16, 17 and 2 more; kind has 'a'") != std::string::npos);
  }
  SUBCASE("nothing held out") {
    parts.fit = "fit: {parameters: [{path: cluster.servers.per_message, from: 1us, to: 1s}], rows: [{kind: [a, b]}]}\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:84: fit.rows: leaves no row held out"));
  }
  SUBCASE("more parameters than rows") {
    parts.fit =
        "fit: {parameters: [{path: cluster.servers.per_message, from: 1us, to: 1s}, {path: cluster.network.link.latency, from: 1us, to: "
        "1s}], rows: [{nodes: 1}]}\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:20: fit.parameters: 2 parameters cannot be fitted on 1 row(s)"));
  }
  SUBCASE("nothing to compare with") {
    parts.compare = "compare: {column: seconds, metric: simulated_seconds, relative_to: {nodes: 8}}\n";
    CHECK(wrong(parts).find("compare.relative_to: matches no row to compare 'nodes=1' with") != std::string::npos);
  }
  SUBCASE("a word without a value") {
    parts.bind = "bind: {kind: {path: training.scheme, values: {a: asgd, bb: asgd}}}\n";
    const std::string text = wrong(parts);
    CHECK(text.find("measured.csv:3:5: kind: unknown word 'b'; did you mean 'bb'?") != std::string::npos);
    CHECK(text.find("measured.csv:4:5: kind: unknown word 'b'") != std::string::npos);
  }
}

TEST_CASE("binds that do not fit the scenario are reported once, where the claim has them") {
  Parts parts;
  SUBCASE("no such key") {
    parts.bind = "bind: {nodes: \"cluster.workers[0].cout\"}\n";
    CHECK(starts(wrong(parts),
                 "claim.yaml:5:8: bind.nodes: cluster.workers[0].cout=1 (row nodes=1): cluster.workers[0].cout: unknown key 'cout'; "
                 "did you mean 'count'?"));
  }
  SUBCASE("no such index") {
    parts.bind = "bind: {nodes: \"cluster.workers[3].count\"}\n";
    CHECK(wrong(parts).find(
              "claim.yaml:5:8: bind.nodes: cluster.workers[3].count=1 (row nodes=1): cluster.workers[3].count: has the index 3") == 0);
  }
  SUBCASE("a device that is not there would change nothing") {
    parts.bind = "bind: {nodes: devices.nod.compute.affine.overhead}\n";
    CHECK(starts(wrong(parts),
                 "claim.yaml:5:8: bind.nodes: devices.nod.compute.affine.overhead sets nothing: unknown device 'nod'; did you mean "
                 "'node'?"));
  }
  SUBCASE("a fitted path that is not there") {
    parts.fit = "fit: {parameters: [{path: cluster.servers.per_massage, from: 1us, to: 1s}], rows: [{nodes: 1}]}\n";
    CHECK(starts(wrong(parts),
                 "claim.yaml:7:20: fit.parameters[0]: cluster.servers.per_massage=1us (row nodes=1): cluster.servers.per_massage: "
                 "unknown key 'per_massage'; did you mean 'per_message'?"));
  }
  SUBCASE("a count cannot be fitted") {
    parts.bind = "bind: {nodes: training.batch.per_worker}\n";
    parts.fit = "fit: {parameters: [{path: \"cluster.workers[0].count\", from: 1, to: 16}], rows: [{nodes: 1}]}\n";
    CHECK(starts(wrong(parts), "claim.yaml:7:20: fit.parameters[0]: cluster.workers[0].count is a whole number, which cannot be fitted"));
  }
  SUBCASE("what is bound cannot be fitted, and nothing twice") {
    parts.fit = "fit: {parameters: [{path: \"cluster.workers[0].count\", from: 1, to: 16}], rows: [{nodes: 1}]}\n";
    CHECK(starts(wrong(parts),
                 "claim.yaml:7:20: fit.parameters[0]: cluster.workers[0].count replaces what bind.nodes sets; keep one of them"));
    const std::string one = "{path: cluster.servers.per_message, from: 1us, to: 1s}";
    parts.fit = "fit: {parameters: [" + one + ", " + one + "], rows: [{nodes: [1, 2]}]}\n";
    CHECK(starts(wrong(parts),
                 "claim.yaml:7:76: fit.parameters[1]: cluster.servers.per_message replaces what fit.parameters[0] sets; keep one of them"));
  }
  SUBCASE("a value out of range") {
    CHECK(starts(wrong(parts, "nodes,seconds\n1,4\n2,3\n0,2\n"),
                 "claim.yaml:5:8: bind.nodes: cluster.workers[0].count=0 (row nodes=0): cluster.workers[0].count: 0 is out of range"));
  }
}

TEST_CASE("tables that are wrong") {
  const Parts parts;
  CHECK(starts(wrong(parts, "nodes,seconds\n1,4\n2,abc\n"), "measured.csv:3:3: seconds: 'abc' is not a number"));
  CHECK(starts(wrong(parts, "nodes,seconds\n1,4\n2,\n"), "measured.csv:3:3: seconds: is empty"));
  CHECK(starts(wrong(parts, "nodes,seconds\n1,4\n2,0\n"), "measured.csv:3:3: seconds: is 0, but errors are shares"));
  CHECK(starts(wrong(parts, "nodes,seconds\n1,4\n2,-3\n"), "measured.csv:3:3: seconds: is negative, but measured values are above 0"));
  CHECK(starts(wrong(parts, "# cut\nnodes,seconds,kind\n1,4,a\n2,3"), "measured.csv:4:1: the row has 2 cells and the header 3 columns"));
  CHECK(starts(wrong(parts, "nodes,seconds\n"), "measured.csv: has a header and no rows"));
  CHECK(starts(wrong(parts, "# nothing\n"), "measured.csv: has no header"));
  CHECK(starts(wrong(parts, ""), "measured.csv: is empty; write a table that begins with 'nodes,seconds'"));
  CHECK(starts(wrong(parts, "nodes,seconds\n1,4\n2,2,64\n"),
               "measured.csv:3:1: the row has 3 cells and the header 2 columns; write one cell for each column, and a point, not a comma"));
  CHECK(starts(wrong(parts, "nodes,seconds\n1,4\n2,\"2,64\"\n"),
               "measured.csv:3:3: seconds: '2,64' has a comma; use a point before decimals"));
  CHECK(
      starts(wrong(parts, "nodes;seconds\n1;2,64\n2;3\n"), "measured.csv:1:1: the columns are separated by semicolons; separate them by"));
  CHECK(starts(wrong(parts, "nodes\tseconds\n1\t4\n2\t3\n"), "measured.csv:1:1: the columns are separated by tabs; separate them by"));
  CHECK(starts(wrong(parts, "nodes,nodes\n1,2\n"), "measured.csv:1:7: the column 'nodes' is there twice"));
  CHECK(starts(wrong(parts, "nodes,seconds\n1,\"4\n"), "measured.csv:2:3: the quote that opens here is not closed"));
}

TEST_CASE("claims and tables that are cut off anywhere are refused or right, and nothing else") {
  const Files files;
  files.write("scenario.yaml", test::asynchronous());
  const std::string claim = Parts().text(), table = good_table;
  int refused = 0;
  for (std::size_t cut = 0; cut < claim.size(); ++cut) {
    files.write("measured.csv", table);
    refused += !test::refusal(files, claim.substr(0, cut)).empty();
  }
  // The last line but its closing bracket, and that line's end, can be missed at most.
  CHECK(refused >= static_cast<int>(claim.size()) - 2);
  for (std::size_t cut = 0; cut < table.size(); ++cut) {
    files.write("measured.csv", table.substr(0, cut));
    CAPTURE(test::refusal(files, claim));
  }
}

TEST_CASE("quoted cells, comments, blank lines and Windows line ends") {
  const Files files;
  const CsvTable table(files.write("t.csv", "# c\r\n\r\n a , \"b \"\"x\"\"\" \r\n1, \"two, three\"\r\n"));
  REQUIRE(table.columns() == std::vector<std::string>{"a", "b \"x\""});
  REQUIRE(table.rows().size() == 1);
  CHECK(table.rows()[0].line == 4);
  CHECK(table.rows()[0].cells[0].text == "1");
  CHECK(table.rows()[0].cells[1].text == "two, three");
  CHECK(table.rows()[0].cells[1].column == 4);
}
