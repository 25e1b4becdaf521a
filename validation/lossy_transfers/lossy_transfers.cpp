// Simulates the transfers of ./measure. Reads rows "bits_per_s,burst_bytes,limit_bytes,connections,bytes" (tbf's rate, burst and limit;
// bytes of each connection) and writes each with the seconds until the last byte is there, the packets that the queue refused, and the
// timeouts.
#include <cstdint>
#include <cstdio>
#include <deque>
#include <limits>

#include "sim/engine/event_queue.hpp"
#include "sim/network/network.hpp"
#include "sim/network/packet_sizes.hpp"

namespace {

using namespace straggler;

/// tbf counts frames, we count what they carry; a connection comes over a veth pair, which has no queue, and takes some 25 us each way. The
/// sender's threads begin one after another.
constexpr double segment = 1448, frame = 1514, payload = segment / frame;
constexpr double veth = 20e9 / 8, one_way = 25e-6, next_thread = 1e-4, send_buffer = 4 << 20;

struct Last final : Arrival {
  explicit Last(const EventQueue& its_queue) : queue(its_queue) {}
  void arrived() override { when = queue.now(); }
  const EventQueue& queue;
  Time when;
};

void simulate(double bits_per_second, double burst, double limit, int connections, double bytes) {
  EventQueue queue;
  Network network(queue);
  network.set_packets({.packet = segment,
                       .window = send_buffer,
                       .acknowledgement = 66,
                       .at_first = 2,
                       .initial = 10 * segment,
                       .idle = Time::from_seconds(0.2),
                       .buffer = limit * payload});
  const double rate = bits_per_second / 8 * payload;
  const LinkId bottleneck = network.add_link(rate);
  network.set_bucket(bottleneck, burst * payload, default_peak(burst * payload, rate));
  Last last(queue);
  std::deque<LinkId> own;
  for (int i = 0; i < connections; ++i) {
    own.push_back(network.add_link(veth));
    const LinkId route[] = {own.back(), bottleneck};
    network.start({.route = route, .bytes = bytes, .latency = Time::from_seconds(i * next_thread), .one_way = Time::from_seconds(one_way)},
                  last);
  }
  while (!queue.empty()) queue.fire_next();
  std::uint64_t timeouts = 0;
  for (const LinkId link : own) timeouts += network.queue(link).timeouts;
  std::printf("%.0f,%.0f,%.0f,%d,%.0f,%.5f,%llu,%llu\n", bits_per_second, burst, limit, connections, bytes, last.when.seconds() + one_way,
              static_cast<unsigned long long>(network.queue(bottleneck).lost_packets), static_cast<unsigned long long>(timeouts));
}

}  // namespace

int main() {
  double bits_per_second, burst, limit, bytes;
  int connections;
  while (std::scanf("%lf,%lf,%lf,%d,%lf", &bits_per_second, &burst, &limit, &connections, &bytes) == 5)
    simulate(bits_per_second, burst, limit, connections, bytes);
}
