// What a user at a terminal sees: the last line, the help, progress, and what prints escape codes.
#include <doctest/doctest.h>
#include <pty.h>

#include <algorithm>

#include "tests/program/small_scenario.hpp"
#include "tests/program/workplace.hpp"

namespace terminal_test {

using straggler::test::small;
using straggler::test::Workplace;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Columns of UTF-8 text.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// A shell command line on a terminal of its own.
class Terminal {
 public:
  Terminal(const Workplace& place, unsigned short width, const std::string& command) {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = width;
    child_ = ::forkpty(&master_, nullptr, nullptr, &size);
    if (child_ == 0) {
      const std::string whole = "cd " + place.folder().string() + " && " + command;
      ::execl("/bin/bash", "bash", "-c", whole.c_str(), nullptr);
      ::_exit(127);
    }
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { ::close(master_); }

  /// All that it printed, once it has ended.
  std::string text() const {
    REQUIRE(child_ > 0);
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = ::read(master_, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<std::size_t>(got));
    int status = 0;
    ::waitpid(child_, &status, 0);
    return all;
  }

 private:
  int master_ = -1;
  pid_t child_ = -1;
};

/// The bars in what a terminal got: all that stands between a return and the order to erase the rest of the line.
std::vector<std::string> bars_in(const std::string& text) {
  std::vector<std::string> bars;
  for (std::size_t at = text.find("\r["); at != std::string::npos; at = text.find("\r[", at + 1))
    bars.push_back(text.substr(at + 1, text.find("\033[K", at) - at - 1));
  return bars;
}

/// Nothing but that order: no colour, with NO_COLOR or without.
bool only_erases(std::string text) {
  for (std::size_t at; (at = text.find("\033[K")) != std::string::npos;) text.erase(at, 3);
  return !has(text, "\033");
}

const std::string interrupted_after = "timeout --foreground -s INT ";
const std::string run = STRAGGLER_PROGRAM " run small.yaml --threads 1 --set training.stop.epochs=1000000 --keep none --out ";
const std::string sweep = STRAGGLER_PROGRAM " sweep sweep.yaml --jobs 1 --no-store --out ";
const std::string race = STRAGGLER_PROGRAM
    " race small.yaml --jobs 1 --no-store --schemes ssgd,asgd --seeds 50 --set training.stop.epochs=100"
    " --out ";

TEST_CASE("a bar shows percent, time left and accuracy whole at 60, 80 and 120 columns; no terminal, no bar") {
  const Workplace place;
  place.write("small.yaml", small);
  place.write("sweep.yaml", "sweep: 1\nname: s\nscenario: small.yaml\naxes: {seed: {from: 1, to: 3000, step: 1}}\n");
  const Terminal narrow(place, 60, interrupted_after + "5 " + run + "narrow"), usual(place, 80, interrupted_after + "5 " + run + "usual"),
      wide(place, 120, "NO_COLOR=1 " + interrupted_after + "5 " + run + "wide"),
      swept(place, 80, interrupted_after + "5 " + sweep + "swept"),
      raced(place, 80, "NO_COLOR=1 " + interrupted_after + "5 " + race + "raced");
  const auto piped = place.shell(interrupted_after + "3 " + run + "piped --progress bar");
  CHECK_FALSE(has(piped.err, "\033"));
  CHECK_FALSE(has(piped.err, "\r"));
  CHECK(has(piped.err, " %  "));
  const std::pair<const Terminal*, std::size_t> terminals[] = {{&narrow, 60}, {&usual, 80}, {&wide, 120}, {&swept, 80}, {&raced, 80}};
  for (const auto& [terminal, width] : terminals) {
    const std::string text = terminal->text();
    CAPTURE(text);
    CHECK(only_erases(text));
    const std::vector<std::string> bars = bars_in(text);
    REQUIRE(!bars.empty());
    for (const std::string& bar : bars) {
      CAPTURE(bar);
      CHECK(columns(bar) < width);
      CHECK(has(bar, " %"));
    }
    CHECK(has(bars.back(), " left"));
    const std::size_t accuracy = bars.back().find("accuracy 0.");
    REQUIRE(accuracy != std::string::npos);
    CHECK(bars.back().find_first_not_of("0123456789", accuracy + 11) >= accuracy + 15);  // four digits
  }
}

TEST_CASE("the last line is the path of the page; formats for programs have none") {
  const Workplace place;
  place.write("small.yaml", small);
  place.write("sweep.yaml", "sweep: 1\nname: s\nscenario: small.yaml\naxes: {training.scheme: [ssgd, asgd]}\n");
  place.write("search.yaml",
              "sweep: 1\nname: f\nscenario: small.yaml\nfind: {metric: samples_per_second, maximize: true, budget: 3, over: "
              "{training.batch.per_worker: {from: 10, to: 50, whole: true}}}\n");
  const auto ends = [&](const std::string& command, const std::string& out) {
    const auto done = place.shell("straggler " + command + " --out " + out + " 2>&1");
    CAPTURE(done.out);
    CHECK(done.code == 0);
    CHECK(lines_of(done.out).back() == "page: " + out + "/report.html");
    CHECK(std::filesystem::exists(place.folder() / out / "report.html"));
  };
  ends("run small.yaml", "one");
  ends("run small.yaml --set training.scheme=ssgd", "two");
  ends("sweep sweep.yaml", "swept");
  ends("sweep search.yaml", "found");
  ends("race small.yaml --schemes ssgd,asgd --seeds 2 --timing-only", "raced");
  ends("explain small.yaml --timing-only", "why");
  ends("compare one two", "both");
  for (const char* const command : {"race small.yaml --schemes ssgd,asgd --seeds 2 --timing-only --out raced",
                                    "explain small.yaml --timing-only --out why", "compare one two --out both"}) {
    CAPTURE(command);
    const auto done = place.shell(std::string("straggler ") + command + " --json");
    CHECK(nlohmann::json::accept(done.out));
  }
  CHECK_FALSE(has(place.shell("straggler run small.yaml --keep none --out bare").out, "page"));
}

TEST_CASE("tables mark the winner so that it survives a pipe, and say what the mark means") {
  const Workplace place;
  place.write("small.yaml", small);
  place.write("sweep.yaml", "sweep: 1\nname: s\nscenario: small.yaml\ntiming_only: true\naxes: {\"cluster.workers[0].count\": [1, 9]}\n");
  REQUIRE(place.shell("straggler run small.yaml --timing-only --out async").code == 0);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --out sync --set training.scheme=ssgd").code == 0);
  // The synchronous scheme waits for the slow worker in each step.
  const auto compared = place.shell("straggler compare sync async");
  CHECK(has(lines_of(compared.out).front(), "* async"));
  CHECK_FALSE(has(lines_of(compared.out).front(), "* sync"));
  CHECK(has(compared.out, "\n* the run that wins\n"));
  const auto raced = place.shell("straggler race small.yaml --schemes ssgd,asgd --seeds 5 --timing-only");
  std::size_t marked = 0;
  for (const std::string& line : lines_of(raced.out)) {
    if (line.starts_with("asgd ")) marked += has(line, "* ");
    if (line.starts_with("ssgd ")) CHECK_FALSE(has(line, "* "));
  }
  CHECK(marked == 1);
  CHECK(has(raced.out, "\n* wins: "));
  // Ten workers handle more samples per second than two.
  const auto swept = place.shell("straggler sweep sweep.yaml");
  for (const std::string& line : lines_of(swept.out)) {
    if (line.starts_with("1 ")) CHECK_FALSE(has(line, "* "));
    if (line.starts_with("9 ")) CHECK(has(line, "* "));
  }
  CHECK(has(swept.out, "\n* the most samples per second\n"));
}

TEST_CASE("the help fits 80 columns: commands in the order of use, one line each") {
  const Workplace place;
  const auto help = place.shell("straggler --help");
  std::vector<std::string> commands;
  for (const std::string& line : lines_of(help.out)) {
    CAPTURE(line);
    CHECK(columns(line) <= 80);
    if (line.starts_with("  ") && !line.starts_with("  straggler ")) commands.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  REQUIRE(commands.size() >= 20);
  CHECK(std::vector<std::string>(commands.begin(), commands.begin() + 7) ==
        std::vector<std::string>{"run", "check", "explain", "advise", "compare", "sweep", "race"});
  for (const std::string& command : commands) {
    CAPTURE(command);
    const auto own = place.shell("straggler " + command + " --help");
    CHECK(own.out.starts_with("straggler " + command));
    for (const std::string& line : lines_of(own.out.substr(0, own.out.find("\nExamples:")))) CHECK(columns(line) <= 80);
  }
}

}  // namespace terminal_test
