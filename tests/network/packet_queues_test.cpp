// How long the queues of packets become, by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/network/packet_sizes.hpp"
#include "tests/network/world.hpp"

namespace packet_queues_test {

using namespace straggler;

namespace {

constexpr double packet = 1000, acknowledgement = 10, rate = 1e6, each = packet / rate;  // each: seconds of a packet

struct Packets : World {
  explicit Packets(double window_packets) {
    network.set_packets({packet, window_packets * packet, acknowledgement, std::numeric_limits<std::uint64_t>::max()});
  }
  void check(LinkId link, double longest, double byte_seconds) const {
    const QueueUse queue = network.queue(link);
    CHECK(queue.longest_bytes == doctest::Approx(longest).epsilon(1e-9));
    CHECK(queue.byte_seconds == doctest::Approx(byte_seconds).epsilon(1e-6));
  }
};

}  // namespace

TEST_CASE("packet queues: two senders whose windows are whole fill a link's queue at once") {
  // The k-th of all packets leaves after k packets' times.
  Packets w(1000);
  const LinkId link = w.network.add_link(rate);
  Note one(w.queue), other(w.queue);
  const int packets_of_one = 7, packets_of_other = 5, all = packets_of_one + packets_of_other;
  w.network.start({.route = {&link, 1}, .bytes = packets_of_one * packet}, one);
  w.network.start({.route = {&link, 1}, .bytes = packets_of_other * packet}, other);
  w.check(link, all * packet, 0);
  w.run_until(all * each / 2);  // six have left
  w.check(link, all * packet, packet * each * (1 + 2 + 3 + 4 + 5 + 6) + 6 * packet * (6 * each));
  w.run();
  w.check(link, all * packet, packet * each * all * (all + 1) / 2);
  w.run_until(1);  // empty since
  w.check(link, all * packet, packet * each * all * (all + 1) / 2);
}

TEST_CASE("packet queues: two senders keep a window each in the queue of a link until little is left") {
  // Acknowledgements need no time here: as one packet leaves, its sender's next one enters. The queue has 2 w packets until the last ones
  // have entered, and then drains: both senders' last windows are whole.
  const int window = 3, of_each = 12, all = 2 * of_each, queued = 2 * window;
  Packets w(window);
  const LinkId link = w.network.add_link(rate);
  Note one(w.queue), other(w.queue);
  for (Note* note : {&one, &other}) w.network.start({.route = {&link, 1}, .bytes = of_each * packet}, *note);
  w.run();
  w.check(link, queued * packet, packet * each * ((all - queued) * queued + queued * (queued + 1) / 2));
}

TEST_CASE("packet queues: two uplinks fill the queue of the slower downlink, and acknowledgements have queues of their own") {
  // The k-th pair arrives after k packets' times, and the j-th packet leaves when j of them have passed the downlink, which never rests. In
  // 1.37 packets' times it lets one leave, so that nothing leaves as others arrive.
  const int pairs = 20;
  const double slow = 1.37 * each;
  Packets w(1000);
  const LinkId up[] = {w.network.add_link(rate), w.network.add_link(rate)}, down = w.network.add_link(packet / slow);
  const LinkId back = w.network.add_link(rate);
  Note notes[] = {Note(w.queue), Note(w.queue)};
  for (int i = 0; i < 2; ++i) {
    const LinkId route[] = {up[i], down};
    w.network.start({.route = route, .bytes = pairs * packet, .back = {&back, 1}}, notes[i]);
  }
  w.run();
  double longest = 0, waits = 0;
  for (int k = 1; k <= pairs; ++k) longest = std::max(longest, 2 * k - std::floor((k - 1) * each / slow));
  for (int j = 1; j <= 2 * pairs; ++j) waits += each + j * slow - (j + 1) / 2 * each;
  w.check(down, longest * packet, waits * packet);
  for (const LinkId link : up) w.check(link, pairs * packet, packet * each * pairs * (pairs + 1) / 2);
  w.check(back, acknowledgement, 2 * pairs * acknowledgement * (acknowledgement / rate));
}

TEST_CASE("packet queues: a link that is down keeps its queue") {
  Packets w(1000);
  const LinkId link = w.network.add_link(rate);
  Note note(w.queue);
  w.network.start({.route = {&link, 1}, .bytes = 2 * packet}, note);
  w.network.set_capacity(link, 0);
  w.run_until(1);
  w.check(link, 2 * packet, 2 * packet);
  w.network.set_capacity(link, rate);
  w.run();
  w.check(link, 2 * packet, 2 * packet + packet * each * (2 + 1));
}

TEST_CASE("packet queues: flows have none") {
  World w;
  const LinkId link = w.network.add_link(rate);
  Note note(w.queue);
  w.network.start({&link, 1}, 5 * packet, no_latency, note);
  CHECK_FALSE(w.network.packets());
  w.run();
  CHECK(w.network.queue(link).longest_bytes == 0);
  CHECK(w.network.queue(link).byte_seconds == 0);
}

}  // namespace packet_queues_test
