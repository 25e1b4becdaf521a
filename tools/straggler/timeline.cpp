#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/report/timeline.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/source_text.hpp"
#include "sim/base/aside_file.hpp"
#include "sim/base/quantity.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace {

constexpr std::size_t most_rows = 32;

/// "worker 3", and its slowdown relative to its device.
std::vector<std::string> names_of(const Scenario& scenario, std::size_t most) {
  std::vector<std::string> names;
  for (const WorkerGroup& group : scenario.cluster.workers)
    for (std::int64_t i = 0; i < group.count && names.size() < most; ++i) {
      std::string name = fmt::format("worker {}", names.size());
      if (group.slowdown != 1) name += fmt::format(", {} x slower", format_number(group.slowdown));
      names.push_back(std::move(name));
    }
  return names;
}

/// Ends the run once it can no longer change the picture: work shown there is dropped soon or never.
class UntilTwice final : public ProgressListener {
 public:
  explicit UntilTwice(Time until) : end_(until + until) {}
  void progress(const State& state) override { passed_ = state.time > end_; }
  bool interrupted() override { return passed_; }

 private:
  Time end_;
  bool passed_ = false;
};

Time drawn_until(const Arguments& arguments) {
  const auto& given = arguments.get<std::string>("until");
  try {
    const double seconds = parse_quantity(given, Dimension::time);
    if (seconds > 0 && seconds < Time::limit().seconds() / 2) return Time::from_seconds(seconds);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--until: {}", error.what()));
  }
  throw UsageError(fmt::format("--until is {}; give a time above 0s and below 50 days", given));
}

void write_picture(const std::filesystem::path& path, const std::string& text) {
  AsideFile aside(path);
  std::ofstream out(aside.path(), std::ios::binary);
  out << text;
  out.close();
  if (!out || aside.put_into_place()) throw UsageError(fmt::format("--out {}: cannot be written; check the disk", path.string()));
}

int execute_timeline(const std::vector<std::string>& given) {
  namespace po = boost::program_options;
  po::options_description own("Options", help_width);
  auto add = own.add_options();
  add("out,o", po::value<std::string>()->value_name("FILE.svg"), "the picture (default: timeline.svg)");
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"), "changes the scenario; repeatable");
  add("until", po::value<std::string>()->value_name("TIME")->default_value("1s"), "simulated time that is drawn, from the start");
  add("workers", po::value<std::string>()->value_name("N"), "draws the first N workers (default: all, at most 32)");
  Arguments arguments(timeline_command, own);
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  std::vector<std::string> sets;
  if (arguments.has("set")) sets = arguments.get<std::vector<std::string>>("set");
  const Scenario scenario = read_scenario(input_file(arguments.positional().front()), sets);
  const std::size_t most = arguments.has("workers") ? static_cast<std::size_t>(arguments.count("workers", 1)) : most_rows;
  const std::vector<std::string> names = names_of(scenario, most);
  const std::filesystem::path out = arguments.has("out") ? arguments.file("out") : std::filesystem::path("timeline.svg");
  const Time until = drawn_until(arguments);

  RunOptions options;
  options.timing_only = true;
  options.trace = true;
  Timeline timeline(static_cast<Rank>(names.size()), until);
  UntilTwice listener(until);
  Experiment(scenario, options).run(&timeline, &listener);
  const std::string label = fmt::format("What {} workers do under {}", names.size(), scenario.training.scheme.name);
  write_picture(out, draw(timeline, names, label).standalone());
  if (!arguments.common().quiet)
    print_text("{}: {} updates in {}\n", out.string(), timeline.updates().size(), arguments.get<std::string>("until"));
  return Exit::done;
}

}  // namespace

const Command timeline_command{"timeline", "SCENARIO.yaml", "draws what each worker does at the beginning of a run, as SVG",
                               "  straggler timeline scenario.yaml --until 2s --out timeline.svg\n"
                               "  straggler timeline scenario.yaml --set training.scheme=asgd --workers 8\n",
                               execute_timeline};

}  // namespace straggler::cli
