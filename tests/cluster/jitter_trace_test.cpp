// The jitter kind `trace`: which factor a worker has when, and what its file may not be.
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/cluster/jitter_cases.hpp"
#include "tests/support/folder.hpp"

namespace straggler {
namespace {

const JitterEntry& entry() { return Registry<JitterEntry>::instance().at("trace"); }

std::uint64_t stream_of(Rank worker) { return RandomStream::stream_key(7, "worker/" + std::to_string(worker) + "/compute"); }

/// A file that goes with the object.
class File {
 public:
  explicit File(const std::string& text) { write(text); }
  void write(const std::string& text) const { folder_.write("trace.csv", text); }
  std::string path() const { return (folder_ / "trace.csv").string(); }

 private:
  const test::TemporaryFolder folder_;
};

Parameters told(const std::string& path, const std::string& offset = "auto", bool normalize = false) {
  return complete(entry().parameters, {{"path", path}, {"offset", offset}, {"normalize", normalize}});
}

std::vector<double> factors(Jitter& jitter, std::uint64_t stream, std::size_t count) {
  std::vector<double> all;
  for (std::uint64_t k = 0; k < count; ++k) all.push_back(jitter.factor(stream, k));
  return all;
}

std::vector<double> of_worker(const Parameters& parameters, Rank worker, std::size_t count) {
  const std::unique_ptr<Jitter> jitter = entry().make_of(parameters, {worker, 7});
  return factors(*jitter, stream_of(worker), count);
}

/// `values` begun at `start`, again and again.
std::vector<double> turned(const std::vector<double>& values, std::size_t start, std::size_t count) {
  std::vector<double> all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(values[(start + k) % values.size()]);
  return all;
}

std::string message(const std::string& path) {
  try {
    entry().make(told(path));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("trace: one column is replayed from its start, again and again") {
  const File file("# measured\nfactor\n1\n1.5\n0.25\n");
  CHECK(of_worker(told(file.path(), "none"), 0, 7) == std::vector<double>{1, 1.5, 0.25, 1, 1.5, 0.25, 1});
  CHECK(of_worker(told(file.path(), "none"), 41, 4) == std::vector<double>{1, 1.5, 0.25, 1});
  const auto jitter = entry().make(told(file.path(), "none"));
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();  // divisible by 3
  CHECK(jitter->factor(1, last) == 1);
  CHECK(jitter->factor(1, last - 1) == 0.25);
}

TEST_CASE("trace: workers that share a column start at places of their own, the same in every run") {
  std::string text;
  std::vector<double> values;
  for (int i = 1; i <= 50; ++i) text += std::to_string(i) + "\n", values.push_back(i);
  const File file(text);
  std::set<double> starts;
  for (Rank worker = 0; worker < 200; ++worker) {
    const std::vector<double> all = of_worker(told(file.path()), worker, 60);
    CHECK(all == turned(values, static_cast<std::size_t>(all[0]) - 1, 60));
    CHECK(of_worker(told(file.path(), "random"), worker, 60) == all);
    starts.insert(all[0]);
  }
  // 200 draws of 50 places: about 50 (1 - 0.98^200) = 49 of them are met.
  CHECK(starts.size() > 40);
  // One object that serves several streams, in turns, gives each its own.
  const auto shared = entry().make(told(file.path()));
  for (int again = 0; again < 2; ++again)
    for (const Rank worker : {3, 5}) CHECK(factors(*shared, stream_of(worker), 60) == of_worker(told(file.path()), worker, 60));
}

TEST_CASE("trace: with several columns worker w has column w modulo their number") {
  const File file("a, b, c\n1, 10, 100\n2, 20, 200\n3, 30, 300\n4, 40, 400\n");
  const std::vector<std::vector<double>> columns = {{1, 2, 3, 4}, {10, 20, 30, 40}, {100, 200, 300, 400}};
  for (Rank worker = 0; worker < 12; ++worker) {
    CAPTURE(worker);
    const std::vector<double>& own = columns[static_cast<std::size_t>(worker % 3)];
    CHECK(of_worker(told(file.path(), "none"), worker, 9) == turned(own, 0, 9));
    const std::vector<double> placed = of_worker(told(file.path(), "random"), worker, 9);
    const std::size_t start = static_cast<std::size_t>(std::find(own.begin(), own.end(), placed[0]) - own.begin());
    REQUIRE(start < own.size());
    CHECK(placed == turned(own, start, 9));
    // Left to itself: from the start in a column that is the worker's alone, else at a place of its own.
    CHECK(of_worker(told(file.path()), worker, 9) == (worker < 3 ? turned(own, 0, 9) : placed));
  }
  // Without a worker at hand each stream has one column, and all of them are met.
  std::set<double> met;
  for (Rank worker = 0; worker < 60; ++worker) {
    const auto jitter = entry().make(told(file.path(), "none"));
    const double first = jitter->factor(stream_of(worker), 0);
    met.insert(first);
    CHECK(jitter->factor(stream_of(worker), 3) == 4 * first);
  }
  CHECK(met == std::set<double>{1, 10, 100});
}

TEST_CASE("trace: resampled rows are drawn at random, the same for all workers that have columns of their own") {
  std::string text;
  for (int row = 1; row <= 20; ++row)
    text += std::to_string(row) + "," + std::to_string(100 * row) + "," + std::to_string(10000 * row) + "\n";
  const File file(text);
  const Parameters parameters = complete(entry().parameters, {{"path", file.path()}, {"rows", std::string("resampled")}});
  constexpr std::size_t draws = 20'000;
  const std::vector<double> rows = of_worker(parameters, 0, draws);
  std::vector<double> second = of_worker(parameters, 1, draws), third = of_worker(parameters, 2, draws);
  for (std::size_t k = 0; k < draws; ++k) {
    CHECK(second[k] == 100 * rows[k]);
    CHECK(third[k] == 10000 * rows[k]);
  }
  // The next three workers have the same columns, and rows of their own: one in twenty is the same.
  const std::vector<double> others = of_worker(parameters, 3, draws), beside = of_worker(parameters, 4, draws);
  std::size_t same = 0, again = 0;
  for (std::size_t k = 0; k < draws; ++k) {
    CHECK(beside[k] == 100 * others[k]);
    same += rows[k] == others[k];
    again += k > 0 && rows[k] == rows[k - 1];
  }
  // Binomial, 1/20: 1,000 with a standard deviation of 30.8; five of them. Drawn with replacement: a row follows itself as often.
  CHECK(std::abs(static_cast<double>(same) - 1000) < 155);
  CHECK(std::abs(static_cast<double>(again) - 1000) < 155);
  // Every row alike: chi-square of 19 degrees of freedom, 1e-6 above 63.
  std::vector<double> counts(20);
  for (const double row : rows) ++counts.at(static_cast<std::size_t>(row) - 1);
  double distance = 0;
  for (const double count : counts) distance += (count - 1000) * (count - 1000) / 1000;
  CHECK(distance < 63);
  // Another seed, other rows; the same seed, the same rows in any order of asking.
  const auto seeded = entry().make_of(parameters, {0, 8});
  CHECK(factors(*seeded, stream_of(0), 100) != std::vector<double>(rows.begin(), rows.begin() + 100));
  const auto backwards = entry().make_of(parameters, {0, 7});
  for (std::uint64_t k = 100; k-- > 0;) CHECK(backwards->factor(stream_of(0), k) == rows[k]);
}

TEST_CASE("trace: with one column every worker resamples alone; without a worker, every stream") {
  const File file("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
  const Parameters parameters = complete(entry().parameters, {{"path", file.path()}, {"rows", std::string("resampled")}});
  const std::vector<double> first = of_worker(parameters, 0, 50);
  CHECK(first != of_worker(parameters, 1, 50));
  CHECK(first == of_worker(parameters, 0, 50));
  const auto shared = entry().make(parameters);
  CHECK(factors(*shared, 1, 50) != factors(*shared, 2, 50));
  CHECK(factors(*shared, 1, 50) == factors(*shared, 1, 50));
}

TEST_CASE("trace: an offset of resampled rows is refused") {
  const File file("1\n2\n");
  const Parameters parameters =
      complete(entry().parameters, {{"path", file.path()}, {"rows", std::string("resampled")}, {"offset", std::string("random")}});
  CHECK_THROWS_WITH_AS(entry().make(parameters), "offset says where rows in order begin, but rows are resampled; leave one of them out",
                       std::invalid_argument);
}

TEST_CASE("trace: normalize divides by the mean of the whole file") {
  const File file("1,3\n3,9\n");  // mean 4
  CHECK(of_worker(told(file.path(), "none", true), 0, 3) == std::vector<double>{0.25, 0.75, 0.25});
  CHECK(of_worker(told(file.path(), "none", true), 1, 3) == std::vector<double>{0.75, 2.25, 0.75});
}

TEST_CASE("trace: blanks, comments, Windows line ends, quotes in a header, a byte order mark") {
  const File file("\xEF\xBB\xBF# comment\r\n\r\n\"node 1\",\"node 2\"\r\n 1 ,\t2\r\n# in between\r\n3,4");
  CHECK(of_worker(told(file.path(), "none"), 0, 2) == std::vector<double>{1, 3});
  CHECK(of_worker(told(file.path(), "none"), 1, 2) == std::vector<double>{2, 4});
  const File marked(
      "\xEF\xBB\xBF"
      "5\n6\n");
  CHECK(of_worker(told(marked.path(), "none"), 0, 2) == std::vector<double>{5, 6});
}

TEST_CASE("trace: a file is read once for all jitters that are alive together, from several threads as well") {
  const File file("1\n2\n");
  const auto first = entry().make_of(told(file.path(), "none"), {0, 7});
  file.write("3\n4\n");
  const auto second = entry().make_of(told(file.path(), "none"), {1, 7});
  CHECK(second->factor(1, 0) == 1);
  std::vector<std::thread> threads;
  std::vector<double> seen(8);
  for (std::size_t i = 0; i < seen.size(); ++i)
    threads.emplace_back([&file, &seen, i] { seen[i] = entry().make_of(told(file.path(), "none"), {0, 7})->factor(1, 1); });
  for (std::thread& thread : threads) thread.join();
  CHECK(seen == std::vector<double>(8, 2.0));
}

TEST_CASE("trace: a file that changed is read again once it is no longer held") {
  const File file("1\n2\n");
  CHECK(entry().make(told(file.path(), "none"))->factor(1, 0) == 1);
  file.write("3\n4\n");
  CHECK(entry().make(told(file.path(), "none"))->factor(1, 0) == 3);
}

TEST_CASE("trace: invalid files are refused with file, line and remedy") {
  struct Case {
    std::string text, line, sentence;
  };
  for (const Case& each : std::vector<Case>{{"", "", "there are no factors"},
                                            {"# only comments\n\n", "", "there are no factors"},
                                            {"factor\n", "", "there are no factors"},
                                            {"1\n0\n", ":2", "0 is no factor"},
                                            {"1\n-2\n", ":2", "-2 is no factor"},
                                            {"1\n1e10\n", ":2", "is no factor"},
                                            {"1\n1e-10\n", ":2", "is no factor"},
                                            {"1\nnan\n", ":2", "nan"},
                                            {"nan\n1\n", ":1", "nan"},
                                            {"inf\n1\n", ":1", "inf"},
                                            {"1.O\n1\n", ":1", "1.O"},
                                            {"factor\n1\nfactor\n1\n", ":3", "factor"},
                                            {"a,b\n1,2\n3", ":3", "there are 1 columns, but 2"},
                                            {"a,b\n1\n", ":2", "there are 1 columns, but 2"},
                                            {"1,2\n1,\n", ":2", ""},
                                            {"1,b\n", ":1", "b"},
                                            {"1;2\n", ":1", "1;2"},
                                            {std::string("1\n\0\0\0\n", 6), ":2", ""},
                                            {"1e999\n", ":1", ""},
                                            {"1 2\n", ":1", "1 2"}}) {
    CAPTURE(each.text);
    const File file(each.text);
    const std::string said = message(file.path());
    CHECK(said.find(file.path() + each.line + ": ") == 0);
    CHECK(said.find(each.sentence) != std::string::npos);
  }
  const std::string missing = "/nonexistent/trace.csv";
  CHECK(message(missing) == missing + ": no such file; give the path of a CSV of factors");
  CHECK(message("/").find("/: not a file; ") == 0);
  CHECK(message("/dev/zero").find("not a file") != std::string::npos);
  CHECK_THROWS_WITH_AS(complete(entry().parameters, {}), doctest::Contains("path: is missing"), std::invalid_argument);
  CHECK_THROWS_AS(complete(entry().parameters, {{"path", std::string("x")}, {"offset", std::string("some")}}), std::invalid_argument);
}

TEST_CASE("trace: a file of more factors than memory should hold is refused at the row that has too many") {
  // 4,000 rows of 4,000 factors are 16 million, the most; 2 bytes each make the file 32 MB.
  std::string row;
  for (int i = 0; i < 4'000; ++i) row += i == 0 ? "1" : ",1";
  std::string text;
  text.reserve(4'001 * (row.size() + 1));
  for (int i = 0; i < 4'001; ++i) text.append(row).append("\n");
  const File file(text);
  CHECK(message(file.path()) == file.path() + ":4001: there are more than 16000000 factors; give a shorter trace, it repeats");
}

TEST_CASE("make_of: kinds that do not care which worker it is are made as ever") {
  const JitterEntry& lognormal = Registry<JitterEntry>::instance().at("lognormal");
  const Parameters parameters = complete(lognormal.parameters, {});
  CHECK(factors(*lognormal.make_of(parameters, {5, 7}), 9, 20) == factors(*lognormal.make(parameters), 9, 20));
  CHECK(Registry<JitterEntry>::instance().at("none").make_of({}, {5, 7}) == nullptr);
}

}  // namespace
}  // namespace straggler
