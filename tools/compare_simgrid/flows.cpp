// SimGrid's answer to a case (format: see lv08 beside this file): completion time of every flow, one per line, in seconds.
#include <cstdio>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Flow {
  double start = 0, bytes = 0;
  std::vector<std::pair<std::size_t, bool>> route;  // link, and whether in its direction
  double end = -1;
};

std::vector<sg4::LinkInRoute> directed(const std::vector<const sg4::Link*>& links, const std::vector<bool>& split, const Flow& flow,
                                       bool back) {
  using Direction = sg4::LinkInRoute::Direction;
  std::vector<sg4::LinkInRoute> route;
  for (const auto& [link, along] : flow.route) {
    const Direction direction = along != back ? Direction::UP : Direction::DOWN;
    route.emplace_back(links[link], split[link] ? direction : Direction::NONE);
  }
  if (back) return {route.rbegin(), route.rend()};
  return route;
}

}  // namespace

int main(int count, char** arguments) {
  sg4::Engine engine(&count, arguments);
  auto* zone = sg4::create_full_zone("all");
  std::vector<const sg4::Link*> links;
  std::vector<bool> split;
  std::vector<Flow> flows;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "link") {
      double bytes_per_second = 0, latency = 0;
      std::string duplex;
      if (!(in >> bytes_per_second >> latency >> duplex)) throw std::invalid_argument("not a link: " + line);
      const std::string name = "link" + std::to_string(links.size());
      split.push_back(duplex == "split");
      if (split.back()) {
        links.push_back(zone->create_split_duplex_link(name, bytes_per_second)->set_latency(latency)->seal());
      } else {
        links.push_back(zone->create_link(name, bytes_per_second)->set_latency(latency)->seal());
      }
    } else if (word == "flow") {
      Flow flow;
      if (!(in >> flow.start >> flow.bytes)) throw std::invalid_argument("not a flow: " + line);
      for (std::string hop; in >> hop;) flow.route.emplace_back(std::stoul(hop), hop.back() == '+');
      flows.push_back(flow);
    }
  }
  for (std::size_t i = 0; i < flows.size(); ++i) {
    auto* from = zone->create_host("from" + std::to_string(i), 1e9)->seal();
    auto* to = zone->create_host("to" + std::to_string(i), 1e9)->seal();
    zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, directed(links, split, flows[i], false), false);
    zone->add_route(to->get_netpoint(), from->get_netpoint(), nullptr, nullptr, directed(links, split, flows[i], true), false);
    sg4::Actor::create("flow" + std::to_string(i), from, [&flow = flows[i], from, to] {
      sg4::this_actor::sleep_until(flow.start);
      sg4::Comm::sendto(from, to, static_cast<std::uint64_t>(flow.bytes));
      flow.end = sg4::Engine::get_clock();
    });
  }
  zone->seal();
  engine.run();
  for (const Flow& flow : flows) std::printf("%.12g\n", flow.end);
}
