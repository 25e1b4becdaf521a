// The cases of workload.hpp as SimGrid (S4U) simulates them. tools/bench/against_simgrid builds and runs it, and documents the options of
// SimGrid. Meter prints the results.
//
//   simgrid_bench parameter_server|ring|fat_tree [key=value ...] [--cfg=... of SimGrid]
//  Mailboxes are eager: each has a receiver (Mailbox::set_receiver), so that a message flows when it is sent, before its receiver asks for
// it. Otherwise the server's inbound NIC would never be shared.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "workload.hpp"

namespace sg4 = simgrid::s4u;
using workload::Case;

namespace {

workload::Meter meter;

void count(std::uint64_t messages) {
  if (!meter.count(messages)) return;
  meter.print(sg4::Engine::get_clock());
  std::fflush(stdout);
  std::_Exit(0);  // the actors never end
}

/// A switch that never limits, and an up-link and a down-link for every rank.
std::vector<sg4::Host*> star(const Case& of, std::uint32_t ranks) {
  auto* zone = sg4::create_star_zone("star");
  std::vector<sg4::Host*> hosts;
  constexpr double latency = workload::link_latency_ps * 1e-12;
  constexpr auto none = sg4::LinkInRoute::Direction::NONE;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string number = std::to_string(rank);
    const double rate = workload::nic_bytes_per_second(of, rank);
    auto* host = zone->create_host("host" + number, 1e9)->seal();
    auto* up = zone->create_link("up" + number, rate)->set_latency(latency)->seal();
    auto* down = zone->create_link("down" + number, rate)->set_latency(latency)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{up, none}}, false);
    zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {{down, none}}, false);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

std::vector<sg4::Mailbox*> mailboxes(std::uint32_t ranks) {
  std::vector<sg4::Mailbox*> boxes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) boxes.push_back(sg4::Mailbox::by_name("box" + std::to_string(rank)));
  return boxes;
}

/// A message is the number of its sender.
void parameter_server(const Case& of) {
  const std::uint32_t ranks = of.workers + of.servers;
  const auto hosts = star(of, ranks);
  const auto boxes = mailboxes(ranks);
  std::vector<std::uint32_t> numbers(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) numbers[rank] = rank;
  const auto bytes = static_cast<std::uint64_t>(workload::message_bytes / of.servers);
  meter.plan(of, std::uint64_t{2} * of.workers * of.servers);

  for (std::uint32_t server = of.workers; server < ranks; ++server) {
    sg4::Actor::create("server", hosts[server], [&, server] {
      boxes[server]->set_receiver(sg4::Actor::self());
      for (;;) {
        const std::uint32_t worker = *boxes[server]->get<std::uint32_t>();
        count(2);
        if (of.waiting)
          boxes[worker]->put(&numbers[server], bytes);
        else
          boxes[worker]->put_init(&numbers[server], bytes)->detach();
      }
    });
  }
  for (std::uint32_t worker = 0; worker < of.workers; ++worker) {
    sg4::Actor::create("worker", hosts[worker], [&, worker] {
      boxes[worker]->set_receiver(sg4::Actor::self());
      std::vector<sg4::CommPtr> shards;
      for (std::uint32_t round = 0;; ++round) {
        sg4::this_actor::sleep_for(static_cast<double>(workload::compute_ps(of, worker, round)) * 1e-12);
        if (of.servers == 1) {
          boxes[of.workers]->put(&numbers[worker], bytes);
        } else {
          shards.clear();
          for (std::uint32_t server = of.workers; server < ranks; ++server)
            shards.push_back(boxes[server]->put_async(&numbers[worker], bytes));
          for (const auto& shard : shards) shard->wait();
        }
        for (std::uint32_t k = 0; k < of.servers; ++k) boxes[worker]->get<std::uint32_t>();
      }
    });
  }
  sg4::Engine::get_instance()->run();
}

/// `rounds` steps of a ring: to the next, from the one before.
void ring(const Case& of) {
  const auto hosts = star(of, of.workers);
  const auto boxes = mailboxes(of.workers);
  static std::uint32_t token = 0;
  meter.plan(of, of.workers);
  for (std::uint32_t rank = 0; rank < of.workers; ++rank) {
    sg4::Actor::create("rank", hosts[rank], [&, rank] {
      boxes[rank]->set_receiver(sg4::Actor::self());
      sg4::Mailbox* const next = boxes[(rank + 1) % of.workers];
      for (;;) {
        const sg4::CommPtr sent = next->put_async(&token, static_cast<std::uint64_t>(workload::message_bytes));
        boxes[rank]->get<std::uint32_t>();
        sent->wait();
        count(1);
      }
    });
  }
  sg4::Engine::get_instance()->run();
}

/// No latency: CM02 weighs flows by 1 / latency, and routes here differ in length.
void fat_tree(const Case& of) {
  constexpr unsigned half = workload::tree_ports / 2;
  using simgrid::kernel::routing::NetPoint;
  std::vector<sg4::Host*> hosts;
  const sg4::ClusterCallbacks callbacks(
      [&hosts](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) -> std::pair<NetPoint*, NetPoint*> {
        hosts.push_back(zone->create_host("host" + std::to_string(id), 1e9)->seal());
        return {hosts.back()->get_netpoint(), nullptr};
      });
  sg4::create_fatTree_zone("tree", nullptr, {3, {half, half, workload::tree_ports}, {1, half, half}, {1, 1, 1}}, callbacks,
                           workload::link_bytes_per_second, 0, sg4::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  const auto flows = workload::permutation_traffic(of);
  meter.plan(of, workload::tree_hosts);
  for (std::uint32_t host = 0; host < workload::tree_hosts; ++host) {
    sg4::Actor::create("sender", hosts[host], [&, host] {
      for (const workload::Flow& flow : flows[host]) {
        sg4::Comm::sendto(hosts[host], hosts[flow.to], flow.bytes);
        count(1);
      }
    });
  }
  sg4::Engine::get_instance()->run();
}

}  // namespace

int main(int count, char** arguments) {
  sg4::Engine engine(&count, arguments);  // takes its own options out
  try {
    const Case of = workload::parse(count, arguments);
    if (of.scenario == "parameter_server")
      parameter_server(of);
    else if (of.scenario == "ring")
      ring(of);
    else if (of.scenario == "fat_tree")
      fat_tree(of);
    else
      throw std::invalid_argument("unknown scenario " + of.scenario + "; known: parameter_server, ring, fat_tree");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simgrid_bench: %s\n", error.what());
    return 2;
  }
}
