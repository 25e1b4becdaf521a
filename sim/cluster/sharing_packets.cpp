// Sharing model `packets`: messages are packets, which wait in the queues of the links, and whose acknowledgements wait in those of the way
// back (Zhang, Shenker and Clark, Observations on the dynamics of a congestion control algorithm: the effects of two-way traffic, SIGCOMM
// 1991). The network does it all. Defaults are Linux's: segmentation offload sends up to 64 KiB as one packet (GSO_LEGACY_MAX_SIZE), a send
// buffer grows to 4 MiB (tcp_wmem), a connection begins with 10 segments of 1448 bytes (Chu and others, RFC 6928, 2013) and is idle after
// 200 ms and a round trip (TCP_RTO_MIN), two packets of it wait in the host's own queue (TCP small queues: tcp_small_queue_check() in
// net/ipv4/tcp_output.c), and an acknowledgement is an Ethernet frame of 14 + 20 + 32 bytes. With a `buffer` packets are lost and sent
// again, as Linux does (sim/network/recovery.hpp).
#include <limits>
#include <optional>

#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/network/packet_sizes.hpp"

namespace straggler::cluster::sharing_packets {
namespace {

class Packets final : public SharingModel {
 public:
  explicit Packets(const PacketSizes& sizes) : sizes_(sizes) {}
  void prepare(const Fabric&, Network& network) const override { network.set_packets(sizes_); }
  void shape(const Path& path, double bytes, std::vector<LinkId>& links, std::vector<double>&, Carriage& out) const override {
    links.assign(path.reverse.rbegin(), path.reverse.rend());
    const Time latency = Time::from_seconds(path.latency);
    out = {.before = {}, .after = latency, .bytes = bytes, .links = path.links, .back = links, .one_way = latency};
  }
  bool by_message() const override { return true; }

 private:
  PacketSizes sizes_;
};

const Register<SharingEntry> entry(
    {"packets",
     "packets wait in the links' queues, acknowledgements too: windows, not fair shares",
     "Zhang, Shenker and Clark, SIGCOMM 1991",
     {{"packet", ValueType::bytes, "64KiB", false, "bytes that a link sends in one piece", Range::at_least(64)},
      {"window", ValueType::bytes, "4MiB", false,
       "bytes of a connection that may be under way without an acknowledgement; at least one packet", Range::at_least(1)},
      {"initial", ValueType::bytes, "14480B", false,
       "window of a new connection; it doubles with each round trip up to `window`, and is halved for each timeout without a packet",
       Range::at_least(1)},
      {"idle", ValueType::time, "200ms", false, "a timeout without a packet, to which a round trip is added", Range::at_least(0)},
      {"at_first", ValueType::count, "2", false, "packets of a connection that may wait in the queue of its first link",
       Range::at_least(1)},
      {"acknowledgement", ValueType::bytes, "66B", false, "size of the acknowledgement of a packet", Range::at_least(0)},
      {"buffer", ValueType::bytes, std::nullopt, false,
       "bytes that the queue of each link behind a host's own one holds; packets beyond them are lost and sent again, as by TCP with "
       "CUBIC; absent: nothing is lost",
       Range::at_least(1)},
      {"own_buffer", ValueType::bytes, std::nullopt, false,
       "the same of a host's own queue, a message's first; what finds no room there waits to be sent; absent: endless", Range::at_least(1)},
      {"connections", ValueType::count, "1", false,
       "connections of two ranks that share the bytes of each message, in equal parts of at least a packet", Range::between(1, 128)}},
     [](const Parameters& p) {
       const auto end = [&p](const char* of) { return p.has(of) ? p.number(of) : std::numeric_limits<double>::infinity(); };
       return std::make_unique<Packets>(PacketSizes{p.number("packet"), p.number("window"), p.number("acknowledgement"),
                                                    static_cast<std::uint64_t>(p.count("at_first")), p.number("initial"),
                                                    Time::from_seconds(p.number("idle")), end("buffer"), end("own_buffer"),
                                                    static_cast<std::uint32_t>(p.count("connections"))});
     }});

}  // namespace
}  // namespace straggler::cluster::sharing_packets
