#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/experiment/all_reduce_times.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/source_text.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/allreduce_measured.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/screen.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

namespace {

constexpr std::uint64_t most_ranks = 65'536, element_bytes = 4;
constexpr double most_bytes = 1e15;
constexpr std::size_t side_by_side = 4;  // algorithms in a table

/// Used without --scenario.
constexpr const char* plain_cluster = R"(straggler: 1
devices: {}
cluster:
  workers: []
  network:
    topology: {kind: hosts}
    link: {bandwidth: 100Gbps, latency: 5us}
    intra: {bandwidth: 100GB/s, latency: 2us}
workload: {}
training: {}
)";

struct Sizes {
  std::uint64_t from = 0, to = 0;  // bytes
};

std::uint64_t bytes_of(const std::string& text, const std::string& whole) {
  double bytes = 0;
  try {
    bytes = size_of(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--sizes {}: {}", whole, error.what()));
  }
  if (bytes < element_bytes || bytes > most_bytes)
    throw UsageError(fmt::format("--sizes {}: {} is out of range; write 4B, one element, to 1000TB", whole, text));
  return static_cast<std::uint64_t>(bytes);
}

Sizes sizes_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  Sizes sizes;
  sizes.from = bytes_of(text.substr(0, dots), text);
  sizes.to = dots == std::string::npos ? sizes.from : bytes_of(text.substr(dots + 2), text);
  if (sizes.to < sizes.from) throw UsageError(fmt::format("--sizes {}: ends below its beginning; write the smaller size first", text));
  return sizes;
}

/// Keeps the scenario's network only: no training and no faults.
std::vector<std::string> sets_of(const Arguments& arguments, const MeasuredTable* measured) {
  std::vector<std::string> sets;
  if (arguments.has("machine")) sets.push_back(fmt::format("cluster.network.intra={{machine: {}}}", arguments.get<std::string>("machine")));
  if (arguments.has("set"))
    for (const std::string& set : arguments.get<std::vector<std::string>>("set")) sets.push_back(set);
  const bool of_table = measured && measured->ranks >= 2 && !arguments.has("scenario");
  if (arguments.has("ranks") || of_table) {
    const std::uint64_t ranks = arguments.has("ranks") ? arguments.count("ranks", 2) : measured->ranks;
    const std::uint64_t hosts = of_table && !arguments.has("ranks") ? std::max<std::size_t>(measured->hosts, 1) : ranks;
    const std::uint64_t per_host = arguments.has("per-host") ? arguments.count("per-host", 1) : (ranks + hosts - 1) / hosts;
    if (ranks > most_ranks) throw UsageError(fmt::format("--ranks is {}; it must be at most {}", ranks, most_ranks));
    if (per_host > ranks) throw UsageError(fmt::format("--per-host is {}; it must be at most --ranks, {}", per_host, ranks));
    sets.push_back("devices.allreduce_rank={compute: {affine: {per_sample: 1us}}}");
    sets.push_back(fmt::format("cluster.workers=[{{count: {}, per_host: {}, device: allreduce_rank}}]", ranks, per_host));
  }
  sets.emplace_back("cluster.faults=[]");
  sets.emplace_back("cluster.network.background=[]");
  sets.push_back(fmt::format("workload={{model: {{kind: mlp, hidden: [1]}}, data: {{kind: coordinates, samples: {}}}}}", most_ranks));
  sets.emplace_back("training={scheme: ssgd, batch: {per_worker: 1}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 1}}");
  return sets;
}

Scenario scenario_of(const Arguments& arguments, const MeasuredTable* measured) {
  if (!arguments.has("scenario")) {
    if (!arguments.has("ranks") && !(measured && measured->ranks >= 2))
      throw UsageError(measured ? "--ranks N is missing: the table does not say how many made it"
                                : "--ranks N is missing; or name a cluster with --scenario FILE");
    return read_scenario_text(plain_cluster, "the cluster without --scenario", sets_of(arguments, measured));
  }
  if (arguments.has("per-host") && !arguments.has("ranks"))
    throw UsageError("--per-host needs --ranks; without them the scenario's workers are the ranks");
  return read_scenario(input_file(arguments.file("scenario").string()), sets_of(arguments, measured));
}

constexpr ChoiceTable<CollectiveKind> collective_choice("collective", {{CollectiveKind::all_reduce, "all_reduce"},
                                                                       {CollectiveKind::all_gather, "all_gather"},
                                                                       {CollectiveKind::reduce_scatter, "reduce_scatter"}});

CollectiveKind collective_of(const Arguments& arguments) {
  if (!arguments.has("collective")) return CollectiveKind::all_reduce;
  const std::string& name = arguments.get<std::string>("collective");
  const std::optional<CollectiveKind> kind = collective_choice.find(name);
  if (!kind) throw UsageError(unknown_name("--collective", name, collective_choice.names()));
  return *kind;
}

std::vector<const CollectiveEntry*> entries_of(const Arguments& arguments, CollectiveKind collective, const AllReduceTimes& times) {
  const auto& entries = algorithms_of(collective).entries();
  std::vector<const CollectiveEntry*> all;
  if (!arguments.has("algorithms")) {
    for (const CollectiveEntry& entry : entries)
      if (entry.unfit(times.shape()).empty()) all.push_back(&entry);
    return all;
  }
  std::vector<std::string> known;
  for (const CollectiveEntry& entry : entries) known.push_back(entry.name);
  const std::string& list = arguments.get<std::string>("algorithms");
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, comma - at);
    at = comma + 1;
    const CollectiveEntry* const entry = algorithms_of(collective).find(name);
    if (entry == nullptr) throw UsageError(unknown_name("--algorithms", name, known, "straggler list collectives"));
    if (const std::string lacks = entry->unfit(times.shape()); !lacks.empty())
      throw UsageError(fmt::format("--algorithms: {} {}", name, lacks));
    all.push_back(entry);
  }
  return all;
}

/// In microseconds, formatted like nccl-tests.
std::string microseconds(double value) { return fmt::format("{:.{}f}", value, value >= 10'000 ? 0 : value >= 100 ? 1 : 2); }

struct Row {
  std::uint64_t bytes;
  std::vector<Time> times;  // [algorithms]
};

/// Algorithms beside each other in a table of at most `width` columns; at least one.
std::size_t columns_that_fit(std::size_t width) {
  constexpr std::size_t of_sizes = 28, of_one = 28;
  return std::clamp<std::size_t>(width > of_sizes ? (width - of_sizes) / of_one : 0, 1, side_by_side);
}

/// Bandwidths in 1e9 bytes per second. `bus_share`: busbw / algbw, by nccl-tests' doc/PERFORMANCE.md.
void print_table(const std::vector<const CollectiveEntry*>& algorithms, const std::vector<Row>& rows, std::size_t first, std::size_t last,
                 double bus_share) {
  std::string names = fmt::format("#{:>13} {:>13}", "", ""), titles = fmt::format("#{:>13} {:>13}", "size", "count"),
              units = fmt::format("#{:>13} {:>13}", "(B)", "(elements)");
  for (std::size_t a = first; a < last; ++a) {
    names += fmt::format("   {:^25}", algorithms[a]->name);
    titles += fmt::format("   {:>9} {:>7} {:>7}", "time", "algbw", "busbw");
    units += fmt::format("   {:>9} {:>7} {:>7}", "(us)", "(GB/s)", "(GB/s)");
  }
  names.erase(names.find_last_not_of(' ') + 1);
  print_text("#\n{}\n{}\n{}\n", names, titles, units);
  for (const Row& row : rows) {
    std::string line = fmt::format(" {:>13} {:>13}", row.bytes, row.bytes / element_bytes);
    for (std::size_t a = first; a < last; ++a) {
      const double seconds = row.times[a].seconds();
      const double rate = static_cast<double>(row.bytes) / seconds / 1e9;
      const auto shown = [&](double value) { return seconds > 0 ? fmt::format("{:.2f}", value) : std::string("-"); };
      line += fmt::format("   {:>9} {:>7} {:>7}", microseconds(1e6 * seconds), shown(rate), shown(rate * bus_share));
    }
    print_text("{}\n", line);
  }
}

void print_cluster(CollectiveKind collective, const AllReduceTimes& times) {
  const std::size_t ranks = times.shape().workers, hosts = times.hosts();
  const auto link = [](double beta, double alpha) {
    return fmt::format("{}, latency {}", beta > 0 ? readable_bytes(1 / beta) + "/s" : std::string("unlimited"), readable_seconds(alpha));
  };
  print_screen("# {} (float{}) of {} ranks on {} host{}, {}\n", name_of(collective),
               collective == CollectiveKind::all_gather ? "" : ", sum", readable_count(ranks), readable_count(hosts), hosts == 1 ? "" : "s",
               times.stepwise() ? "message by message" : "each as one flow");
  const UniformLinks& links = times.links();
  if (hosts > 1) print_text("# between hosts    {}\n", link(links.beta, links.alpha));
  if (hosts < ranks) print_text("# inside a host    {}\n", link(links.intra_beta, links.intra_alpha));
}

void print_left_out(CollectiveKind collective, const AllReduceTimes& times) {
  for (const CollectiveEntry& entry : algorithms_of(collective).entries())
    if (const std::string lacks = entry.unfit(times.shape()); !lacks.empty()) print_screen("# left out: {}, which {}\n", entry.name, lacks);
}

/// The message size from which a library makes each choice.
void print_choices(const AllReduceTimes& times, const std::vector<const CollectiveEntry*>& algorithms, const std::vector<Row>& rows) {
  for (const CollectiveEntry* entry : algorithms) {
    if (!entry->library) continue;
    std::string text, last;
    for (const Row& row : rows) {
      const std::string choice = times.choice(*entry, row.bytes);
      if (choice != last) text += fmt::format("{}{} from {} B", text.empty() ? "" : "; ", choice, row.bytes);
      last = choice;
    }
    print_screen("# {} takes {}\n", entry->name, text);
  }
}

AssumedLinks assumed_links(const Arguments& arguments, const MeasuredTable& table) {
  if (arguments.has("scenario")) return {};
  AssumedLinks assumed{true, !arguments.has("machine"), arguments.has("ranks") && !arguments.has("per-host") && table.hosts == 0};
  assumed.one_host = table.hosts == 0 && !arguments.has("ranks") && !arguments.has("per-host");
  if (arguments.has("set"))
    for (const std::string& set : arguments.get<std::vector<std::string>>("set")) {
      assumed.one_host = assumed.one_host && !set.starts_with("cluster.workers");
      assumed.between = assumed.between && !set.starts_with("cluster.network.link");
      assumed.inside = assumed.inside && !set.starts_with("cluster.network.intra");
      const bool whole = set.starts_with("cluster.network=") || set.starts_with("cluster=");
      assumed.between = assumed.between && !whole;
      assumed.inside = assumed.inside && !whole;
      assumed.one_per_host = assumed.one_per_host && !set.starts_with("cluster.workers");
    }
  return assumed;
}

int execute_measured(const Arguments& arguments) {
  for (const char* option : {"sizes", "collective", "algorithms"})
    if (arguments.has(option)) throw UsageError(fmt::format("--{} and --measured: the table has its own; remove one of them", option));
  for (const MeasuredTable& table : read_measured_tables(arguments.get<std::string>("measured"))) {
    const bool pair = !table.collective.starts_with("all_") && table.collective != "reduce_scatter";
    MeasuredTable of = table;
    if (pair && of.ranks == 0) of.ranks = of.hosts = 2;  // a message from one to the other
    print_measured(table, scenario_of(arguments, &of), assumed_links(arguments, of));
  }
  return Exit::done;
}

int execute_allreduce(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  auto add = own.add_options();
  add("collective", po::value<std::string>()->value_name("NAME"), "all_reduce, all_gather or reduce_scatter (default: all_reduce)");
  add("ranks", po::value<std::string>()->value_name("N"), "number of GPUs (default: the workers of --scenario)");
  add("per-host", po::value<std::string>()->value_name("N"), "ranks on a host, which share its link (default: 1)");
  add("sizes", po::value<std::string>()->value_name("FROM..TO"),
      "sizes, doubling from FROM to TO, or one size; without a unit in bytes (default: 1MiB..1GiB)");
  add("scenario", po::value<std::string>()->value_name("FILE"), "takes the cluster and its network from a scenario; - is standard input");
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"), "changes the cluster; repeatable");
  add("algorithms", po::value<std::string>()->value_name("LIST"),
      "only these algorithms, such as ring,hierarchical (default: all that fit)");
  add("machine", po::value<std::string>()->value_name("NAME"), "hosts of this kind: straggler list machines");
  add("measured", po::value<std::string>()->value_name("FILE"),
      "output of nccl-tests or of an OSU micro-benchmark: its times beside those expected, and what limits them");
  Arguments arguments(allreduce_command, own);
  if (!arguments.parse(given, 0, 0)) return Exit::done;
  if (arguments.has("measured")) return execute_measured(arguments);
  const CollectiveKind collective = collective_of(arguments);
  const Sizes sizes = sizes_of(arguments.has("sizes") ? arguments.get<std::string>("sizes") : "1MiB..1GiB");
  const Scenario scenario = scenario_of(arguments, nullptr);
  if (scenario.workers() < 2) throw UsageError("the scenario has one worker, and a collective needs two; give --ranks N");
  const AllReduceTimes times(scenario);
  const std::vector<const CollectiveEntry*> algorithms = entries_of(arguments, collective, times);
  print_cluster(collective, times);
  if (!arguments.has("algorithms")) print_left_out(collective, times);
  std::vector<Row> rows;
  for (std::uint64_t bytes = sizes.from; bytes <= sizes.to; bytes *= 2) {
    Row row{bytes - bytes % element_bytes, {}};
    for (const CollectiveEntry* entry : algorithms) row.times.push_back(times.time(*entry, row.bytes));
    rows.push_back(std::move(row));
  }
  print_choices(times, algorithms, rows);
  const auto ranks = static_cast<double>(times.shape().workers);
  const double bus_share = (collective == CollectiveKind::all_reduce ? 2 : 1) * (ranks - 1) / ranks;
  const std::size_t width = terminal_width(stdout), across = width == 0 ? side_by_side : columns_that_fit(width);
  for (std::size_t first = 0; first < algorithms.size(); first += across)
    print_table(algorithms, rows, first, std::min(first + across, algorithms.size()), bus_share);
  return Exit::done;
}

}  // namespace

const Command allreduce_command{
    "allreduce",
    "[OPTIONS]",
    "times and bandwidths of collectives, as nccl-tests prints them",
    "  straggler allreduce --ranks 64 --per-host 8 --sizes 1MiB..1GiB\n"
    "  straggler allreduce --ranks 64 --per-host 8 --set cluster.network.link.bandwidth=400Gbps --algorithms ring,hierarchical\n"
    "  straggler allreduce --ranks 64 --per-host 8 --collective reduce_scatter\n"
    "  straggler allreduce --scenario scenario.yaml\n"
    "  straggler allreduce --scenario scenario.yaml --ranks 128 --per-host 4 --sizes 64MiB\n"
    "  straggler allreduce --measured all_reduce_perf.log --machine dgx_h100 --set cluster.network.link.bandwidth=400Gbps\n",
    execute_allreduce,
    "\n"
    "What it assumes:\n"
    "  A size is the bytes of one rank's whole buffer of float elements (4 B; a size is rounded down to whole ones): of an all-gather the\n"
    "  N blocks that it ends with, of a reduce-scatter the N that it begins with. time is from the common start of all ranks until the\n"
    "  last of them has the result; it includes collective.launch. algbw = size / time and busbw = algbw * 2 (N - 1) / N, of an\n"
    "  all-gather and a reduce-scatter half of that, for every algorithm, as nccl-tests defines them (its doc/PERFORMANCE.md); GB/s is\n"
    "  1e9 bytes a second. There is no other traffic. Without --scenario a host has one link of 100 Gbps and 5 us to a switch without "
    "limits, and\n"
    "  its ranks exchange messages at 100 GB/s and 2 us. --scenario takes the scenario's whole cluster except faults and background\n"
    "  traffic; its model does not matter. With --ranks its workers are replaced by N equal ones, on hosts with the link of\n"
    "  cluster.network.link. An algorithm is simulated as one flow, exact to 1 % on such an idle network; with collective.fidelity:\n"
    "  stepwise in the scenario every message is a flow. docs/model.md has the closed forms. Token buckets are full at the start.\n"};

}  // namespace straggler::cli
