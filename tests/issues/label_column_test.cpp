// Which column of a CSV is the label, where nobody says.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/data/dataset.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::label_column {
namespace {

const DataEntry& csv() { return Registry<DataEntry>::instance().at("csv"); }

Parameters at(const std::filesystem::path& file, const std::string& label = "") {
  Parameters parameters = {{"path", file.string()}, {"normalize", std::string("none")}};
  if (!label.empty()) parameters.set("label", label);
  return complete(csv().parameters, parameters);
}

/// Row i has the class i mod 3, and the numbers i and 0.
std::string table(const char* header, const char* row, int rows = 30) {
  std::string text = header;
  for (int i = 0; i < rows; ++i) text += fmt::format(fmt::runtime(row), i % 3, i) + "\n";
  return text;
}

std::string notes(const DataInfo& info) { return fmt::format("{}", fmt::join(info.notes, "\n")); }

}  // namespace

TEST_CASE("the one column with a usual name is the label, and the reader is told") {
  const TemporaryFolder folder;
  for (const char* name : {"label", "Label", "class", "target", "y"}) {
    CAPTURE(name);
    const auto file = folder.write("t.csv", table(fmt::format("{},p0,p1\n", name).c_str(), "{0},{1},0"));
    const DataInfo info = csv().inspect(at(file), "/");
    CHECK(info.classes == 3);
    CHECK(has(info.origin, fmt::format("labels in column 1 ({})", name)));
    CHECK(has(notes(info), fmt::format("t.csv: the labels are column 1 ({}), by its name", name)));
    const Dataset data = csv().load(at(file), "/", 1, 1);
    for (const DataSplit* split : {&data.train, &data.test})
      for (std::size_t i = 0; i < split->count(); ++i)
        CHECK(split->labels[i] == static_cast<int>(split->inputs.rows(i, 1, nullptr)[0]) % 3);
    CHECK_THROWS_WITH_AS(csv().inspect(at(file, "2"), "/"), doctest::Contains("30 different labels in column 2"),
                         DataError);  // what is written counts
  }
}

TEST_CASE("without such a name the last column is the label, as without a header") {
  const TemporaryFolder folder;
  const auto label_of = [&](const std::string& text, const std::string& label = "") {
    return csv().inspect(at(folder.write("t.csv", text), label), "/");
  };
  for (const DataInfo& info : {label_of(table("a,b,c\n", "{1},0,{0}")), label_of(table("", "{1},0,{0}")),
                               label_of(table("label,b,class\n", "{1},0,{0}")), label_of(table("x,y,cluster\n", "{1},0,{0}")),
                               label_of(table("0,1,label\n", "{1},0,{0}")), label_of(table("label,b,c\n", "{1},0,{0}"), "last")}) {
    CHECK(info.train + info.test == 30);
    CHECK(info.classes == 3);
    CHECK(has(info.origin, "labels in column 3"));
    CHECK(info.notes.empty());
  }
  CHECK_THROWS_WITH_AS(
      label_of(table("label,class,c\n", "{0},{1},0")),
      doctest::Contains("t.csv:1: columns 1 ('label') and 2 ('class') may both be the labels; name one of them by `label`"), DataError);
}

TEST_CASE("a label that nearly every row has is doubted, before and in a run") {
  const TemporaryFolder folder;
  const auto constant = [&](int others) {
    std::string text = "a,b,c\n";
    for (int i = 0; i < 100; ++i) text += fmt::format("{},{},{}\n", i, i * i, i < others ? 1 : 0);
    return folder.write("t.csv", text);
  };
  CHECK(csv().inspect(at(constant(10)), "/").notes.empty());  // 90 %
  CHECK(has(notes(csv().inspect(at(constant(9)), "/")), "t.csv: 91.0 % of the rows have the label '0' in column 3 (c)"));
  const Result result = run(cluster(2), {"workload={model: softmax, data: {kind: csv, path: " + constant(9).string() + "}}",
                                         "training.batch.per_worker=10", "training.stop={updates: 1}"});
  CHECK(has(fmt::format("{}", fmt::join(result.record.warnings, "\n")), "91.0 % of the rows have the label '0'"));
}

}  // namespace straggler::test::label_column
