// The workload of both sides: engine_bench and simgrid_bench take the same command line and get every number here, so that cases are
// identical. Plain C++17, as SimGrid's headers require.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace workload {

constexpr double link_bytes_per_second = 125e6;       // 1 Gbit/s, each way
constexpr std::int64_t link_latency_ps = 50'000'000;  // 50 us; a message crosses two links of a star
constexpr double message_bytes = 1e5;
constexpr std::uint32_t tree_ports = 16, tree_hosts = tree_ports * tree_ports * tree_ports / 4;

/// `PROGRAM SCENARIO key=value ...`
struct Case {
  std::string scenario;
  std::uint32_t workers = 64;  // ring: ranks
  std::uint32_t servers = 1;   // a message goes to all of them in equal parts
  std::uint32_t rounds = 1;    // on average, of a worker; ring: steps, or whole all-reduces; fat_tree: flows of a host
  std::uint32_t warmup = 0;    // rounds that are not measured
  bool jitter = false;         // compute drawn each round; false: constant for each worker
  bool unequal = false;        // NICs of one to five fifths
  bool waiting = true;         // a server takes the next message when its answer has arrived
  double server_gbps = 1;      // of a server's NIC, each way
};

/// Counts messages, and the CPU time of the process (user and system) between two of them. Closed loops run until it has counted all of
/// them, so that the last message is counted amid the same traffic as the first.
class Meter {
 public:
  /// `each`: messages of a round.
  void plan(const Case& of, std::uint64_t each) {
    first_ = of.warmup * each;
    last_ = of.rounds * each;
    if (first_ >= last_) throw std::invalid_argument("warmup= must be less than rounds=, or nothing is measured");
    if (first_ == 0) from_ = cpu_seconds();
  }
  /// True: that was the last one, and it is time to stop.
  bool count(std::uint64_t messages) {
    const std::uint64_t before = std::exchange(counted_, counted_ + messages);
    if (before < first_ && counted_ >= first_) from_ = cpu_seconds();
    if (before >= last_ || counted_ < last_) return false;
    seconds_ = cpu_seconds() - from_;
    return true;
  }
  /// Messages counted, the simulated seconds until then, messages measured, CPU seconds that they took.
  void print(double simulated_seconds) const {
    std::printf("%llu %.12g %llu %.6f\n", static_cast<unsigned long long>(last_), simulated_seconds,
                static_cast<unsigned long long>(last_ - first_), seconds_);
  }

 private:
  static double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  std::uint64_t first_ = 0, last_ = 0, counted_ = 0;
  double from_ = 0, seconds_ = 0;
};

inline std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xFF51'AFD7'ED55'8CCDu;
  x = (x ^ x >> 33) * 0xC4CE'B9FE'1A85'EC53u;
  return x ^ x >> 33;
}

/// 10 to 16 ms: of worker i always 10 + i mod 7, or drawn uniformly.
inline std::int64_t compute_ps(const Case& of, std::uint32_t worker, std::uint32_t round) {
  constexpr std::int64_t ms = 1'000'000'000;
  if (!of.jitter) return 10 * ms + worker % 7 * ms;
  const std::int64_t drawn = static_cast<std::int64_t>(scrambled(std::uint64_t{worker} << 32 | round) >> 33);  // 31 bits
  return 10 * ms + 6 * (drawn * ms >> 31);
}

inline double nic_bytes_per_second(const Case& of, std::uint32_t rank) {
  if (rank >= of.workers) return of.server_gbps * link_bytes_per_second;
  return of.unequal ? link_bytes_per_second * (1 + rank % 5) / 5 : link_bytes_per_second;
}

/// The fat tree's traffic: flow number k of every host goes to a random permutation of the hosts without fixed points, and has 0.5 to 1.5
/// MB. [hosts][flows]; 1.5 times the counted number, for the hosts that are ahead.
struct Flow {
  std::uint32_t to;
  std::uint64_t bytes;
};
inline std::vector<std::vector<Flow>> permutation_traffic(const Case& of) {
  std::vector<std::vector<Flow>> flows(tree_hosts);
  std::vector<std::uint32_t> to(tree_hosts);
  std::mt19937_64 random(12345);
  for (std::uint32_t k = 0; k < of.rounds + of.rounds / 2 + 16; ++k) {
    std::iota(to.begin(), to.end(), 0u);
    for (std::uint32_t i = tree_hosts - 1; i > 0; --i) std::swap(to[i], to[random() % i]);  // one cycle (Sattolo): no fixed points
    for (std::uint32_t i = 0; i < tree_hosts; ++i) flows[i].push_back({to[i], 500'000 + random() % 1'000'001});
  }
  return flows;
}

/// The number that begins at `at`, or -1, which no option takes, if none does.
inline double number_behind(const std::string& text, std::size_t at) {
  if (at == std::string::npos) return -1;
  char* end = nullptr;
  const double value = std::strtod(text.c_str() + at + 1, &end);
  return end != text.c_str() + at + 1 && *end == '\0' ? value : -1;
}

inline Case parse(int count, const char* const* arguments) {
  if (count < 2) throw std::invalid_argument("no scenario; write one of parameter_server, ring, fat_tree, then key=value ...");
  Case it;
  it.scenario = arguments[1];
  const std::map<std::string, std::uint32_t*> counts{
      {"workers", &it.workers}, {"servers", &it.servers}, {"rounds", &it.rounds}, {"warmup", &it.warmup}};
  const std::map<std::string, bool*> switches{{"jitter", &it.jitter}, {"unequal", &it.unequal}, {"waiting", &it.waiting}};
  for (int i = 2; i < count; ++i) {
    const std::string text = arguments[i];
    const std::size_t at = text.find('=');
    const std::string key = text.substr(0, at);
    const double value = number_behind(text, at);
    if (const auto found = counts.find(key); found != counts.end() && value >= (key == "warmup" ? 0 : 1) && value < 1e9)
      *found->second = static_cast<std::uint32_t>(value);
    else if (const auto flag = switches.find(key); flag != switches.end() && (value == 0 || value == 1))
      *flag->second = value == 1;
    else if (key == "server_gbps" && value > 0)
      it.server_gbps = value;
    else
      throw std::invalid_argument(text +
                                  " is not an option; known: workers=, servers=, rounds=, warmup= (counts), server_gbps=, "
                                  "jitter=, unequal=, waiting= (0 or 1)");
  }
  return it;
}

}  // namespace workload
