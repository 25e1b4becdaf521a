// Simulates the transfers of ./measure. Reads rows "bits_per_s,burst_bytes,limit_bytes,connections,bytes" (tbf's rate, burst and limit;
// bytes of each connection) and writes each with the seconds until the last byte is there, the packets that the queue refused, and the
// timeouts: medians over as many hosts, whose timers tick at different times, as the measurement has repeats. With the word "host" the
// bucket is the sender's own, else a switch's.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/network/network.hpp"
#include "sim/network/packet_sizes.hpp"

namespace {

using namespace straggler;

/// tbf counts frames, we count what they carry; a connection comes over a veth pair, which has no queue, and takes some 25 us each way. The
/// sender's threads begin one after another.
constexpr double segment = 1448, frame = 1514, payload = segment / frame;
constexpr double veth = 20e9 / 8, one_way = 25e-6, next_thread = 1e-4, send_buffer = 4 << 20;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int repeats = 5;

struct Last final : Arrival {
  explicit Last(const EventQueue& its_queue) : queue(its_queue) {}
  void arrived() override { when = queue.now(); }
  const EventQueue& queue;
  Time when;
};

struct Result {
  double seconds;
  std::uint64_t lost, timeouts;
};

Result simulate(bool at_host, double bits_per_second, double burst, double limit, int connections, double bytes, int repeat) {
  EventQueue queue;
  Network network(queue);
  network.set_packets({.packet = segment,
                       .window = send_buffer,
                       .acknowledgement = 66,
                       .at_first = 2,
                       .initial = 10 * segment,
                       .idle = Time::from_seconds(0.2),
                       .buffer = at_host ? infinity : limit * payload,
                       .own_buffer = at_host ? limit * payload : infinity});
  const double rate = bits_per_second / 8 * payload;
  for (int other = 0; other < repeat; ++other) network.add_link(veth);
  std::vector<LinkId> route;
  if (!at_host) route.push_back(network.add_link(veth));
  const LinkId bottleneck = network.add_link(rate);
  network.set_bucket(bottleneck, burst * payload, default_peak(burst * payload, rate));
  route.push_back(bottleneck);
  Last last(queue);
  for (int i = 0; i < connections; ++i)
    network.start({.route = route, .bytes = bytes, .latency = Time::from_seconds(i * next_thread), .one_way = Time::from_seconds(one_way)},
                  last);
  while (!queue.empty()) queue.fire_next();
  return {last.when.seconds() + one_way, network.queue(bottleneck).lost_packets, network.queue(route.front()).timeouts};
}

template <class Of>
auto median(std::array<Result, repeats> results, Of of) {
  std::ranges::nth_element(results, results.begin() + repeats / 2, {}, of);
  return results[repeats / 2].*of;
}

}  // namespace

int main(int count, char** words) {
  const bool at_host = count == 2 && std::strcmp(words[1], "host") == 0;
  double bits_per_second, burst, limit, bytes;
  int connections;
  while (std::scanf("%lf,%lf,%lf,%d,%lf", &bits_per_second, &burst, &limit, &connections, &bytes) == 5) {
    std::array<Result, repeats> results;
    for (int i = 0; i < repeats; ++i)
      results[static_cast<std::size_t>(i)] = simulate(at_host, bits_per_second, burst, limit, connections, bytes, i);
    std::printf("%.0f,%.0f,%.0f,%d,%.0f,%.5f,%llu,%llu\n", bits_per_second, burst, limit, connections, bytes,
                median(results, &Result::seconds), static_cast<unsigned long long>(median(results, &Result::lost)),
                static_cast<unsigned long long>(median(results, &Result::timeouts)));
  }
}
