// Our answer to a case (format: see lv08 beside this file) under sharing model `lv08`: completion time of every flow, one per line, in
// seconds.
#include <cstdio>
#include <deque>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"

using namespace straggler;

namespace {

struct Wire {
  LinkId along, against;  // the same if shared
  double bytes_per_second, latency;
};

struct Platform {
  explicit Platform(Simulation& its_simulation) : simulation(its_simulation), network(simulation.queue()) { simulation.attach(network); }
  Simulation& simulation;
  Network network;
  std::vector<Wire> wires;
  std::unique_ptr<SharingModel> sharing = Registry<SharingEntry>::instance().at("lv08").make({});
};

class Flow final : public Event, public Arrival {
 public:
  Flow(Platform& platform, std::istream& in) : platform_(platform) {
    double start = 0;
    if (!(in >> start >> bytes_)) throw std::invalid_argument("a flow has a start, bytes and a route");
    for (std::string hop; in >> hop;) {
      const Wire& wire = platform.wires.at(std::stoul(hop));
      const bool along = hop.back() == '+';
      links_.push_back(along ? wire.along : wire.against);
      reverse_.push_back(along ? wire.against : wire.along);
      rates_.push_back(wire.bytes_per_second);
      latency_ += wire.latency;
    }
    platform.simulation.queue().at(Time::from_seconds(start), *this);
  }
  double end() const { return end_; }

 private:
  void happen() override {
    Carriage carriage;
    std::vector<LinkId> links;
    std::vector<double> volumes;
    platform_.sharing->shape({links_, reverse_, rates_, latency_}, bytes_, links, volumes, carriage);
    platform_.network.start(carriage.with_latency(), *this);
  }
  void arrived() override { end_ = platform_.simulation.now().seconds(); }

  Platform& platform_;
  std::vector<LinkId> links_, reverse_;
  std::vector<double> rates_;
  double bytes_ = 0, latency_ = 0, end_ = -1;
};

void read(std::istream& in, Platform& platform, std::deque<Flow>& flows) {
  for (std::string line, word; std::getline(in, line);) {
    std::istringstream words(line);
    words >> word;
    if (word == "link") {
      Wire wire{};
      std::string duplex;
      if (!(words >> wire.bytes_per_second >> wire.latency >> duplex)) throw std::invalid_argument("not a link: " + line);
      wire.along = platform.network.add_link(wire.bytes_per_second);
      wire.against = duplex == "split" ? platform.network.add_link(wire.bytes_per_second) : wire.along;
      platform.wires.push_back(wire);
    } else if (word == "flow") {
      flows.emplace_back(platform, words);
    } else {
      throw std::invalid_argument("neither a link nor a flow: " + line);
    }
  }
}

}  // namespace

int main() {
  Simulation simulation;
  Platform platform(simulation);
  std::deque<Flow> flows;
  read(std::cin, platform, flows);
  simulation.run();
  for (const Flow& flow : flows) std::printf("%.12g\n", flow.end());
}
