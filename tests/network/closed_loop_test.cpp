// Arrivals start and cancel messages and capacities change at the same instants; after random instants every rate is
// compared with the textbook's for the flows that the network has then.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include "tests/network/random_instances.hpp"
#include "tests/network/run.hpp"
#include "tests/network/textbook.hpp"

namespace closed_loop_test {

using namespace straggler;

namespace {

class World {
 public:
  World(std::uint32_t seed, bool volumes) : random_(seed), volumes_(volumes), network_(queue_) {
    hub_like_ = draw(0, 2) == 0;
    actors_ = draw(1, hub_like_ ? 70 : 30);
    const int links = hub_like_ ? actors_ + 2 : draw(1, 14);
    weighted_ = draw(0, 2) == 0;
    ties_ = draw(0, 1) == 1;
    settle_rarely_ = draw(0, 1) == 1;
    for (int l = 0; l < links; ++l) {
      capacity_.push_back(draw(0, 1) ? 1e8 : 1e8 * draw(1, 10) / draw(1, 4));
      if (hub_like_ && l == 0) capacity_[0] *= draw(1, actors_);
      network_.add_link(capacity_.back());
    }
    sent_.assign(capacity_.size(), 0);
    for (int i = 0; i < actors_; ++i) begin(i);
  }

  double run(int steps) {
    for (int i = 0; i < steps && step(queue_, network_); ++i) {
      if (draw(0, settle_rarely_ ? 40 : 5) == 0) compare();
    }
    compare();
    return worst_;
  }

 private:
  struct Message final : Arrival, textbook::Demand {
    void arrived() override { world->arrived(*this); }
    World* world = nullptr;
    FlowId id = 0;
    int actor = 0;
    double bytes = 0;
    Time flows_from;
  };

  int draw(int least, int most) { return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1)); }

  std::vector<LinkId> route(int actor) {
    const int last = static_cast<int>(capacity_.size()) - 1;
    if (hub_like_ && draw(0, 29) > 0) return {0, static_cast<LinkId>(1 + actor)};
    std::vector<LinkId> route;
    for (int hops = draw(1, draw(0, 9) == 0 ? 9 : 3); hops > 0; --hops) {
      const auto link = static_cast<LinkId>(draw(0, last));
      if (std::find(route.begin(), route.end(), link) == route.end()) route.push_back(link);
    }
    return route;
  }

  void begin(int actor) {
    auto message = std::make_unique<Message>();
    message->world = this;
    message->actor = actor;
    message->route = route(actor);
    message->bytes = draw(0, 40) == 0 ? 0 : ties_ ? 1e5 * draw(1, 2) : draw(1, 500'000);
    message->weight = weighted_ ? draw(1, 9) / 3.0 : 1;
    if (volumes_ && draw(0, 2) == 0) {
      for (std::size_t k = 0; k < message->route.size(); ++k) message->volumes.push_back(ties_ ? 0.5 * draw(1, 4) : draw(1, 200) / 70.0);
    }
    if (volumes_ && draw(0, 3) == 0) message->most = ties_ ? 1e7 * draw(1, 10) : 1e5 * draw(1, 1000);
    const Time latency = Time::from_ticks(draw(0, 2) * 100'000'000ll);
    message->flows_from = queue_.now() + latency;
    message->id = network_.start({message->route, message->volumes, message->bytes, latency, message->weight, message->most}, *message);
    CHECK(under_way_.count(message->id) == 0);
    under_way_[message->id] = std::move(message);
  }

  void arrived(Message& message) {
    const FlowId id = message.id;
    const int actor = message.actor;
    for (std::size_t k = 0; k < message.route.size(); ++k) sent_[message.route[k]] += message.bytes * message.volume(k);
    REQUIRE(under_way_.erase(id) == 1);
    network_.cancel(id);  // too late: nothing happens
    if (draw(0, 9) == 0) change_capacity();
    if (draw(0, 9) == 0) cancel_one();
    begin(actor);
    if (draw(0, 19) == 0) begin(actor);
    if (draw(0, 9) == 0) cancel_one();
  }

  void cancel_one() {
    if (under_way_.size() < 2) return;
    auto victim = under_way_.begin();
    std::advance(victim, draw(0, static_cast<int>(under_way_.size()) - 1));
    for (LinkId l : victim->second->route) lost_track_ |= l < sent_.size();
    network_.cancel(victim->first);
    under_way_.erase(victim);
  }

  void change_capacity() {
    auto l = static_cast<std::size_t>(draw(0, static_cast<int>(capacity_.size()) - 1));
    if (hub_like_ && draw(0, 2) > 0) return;
    if (hub_like_ && draw(0, 1) == 0) l = 0;
    capacity_[l] = draw(0, 9) == 0 ? 0 : 1e8 * draw(1, 10) / draw(1, 4);
    network_.set_capacity(static_cast<LinkId>(l), capacity_[l]);
  }

  void compare() {
    std::vector<textbook::Demand*> flowing;
    for (auto& [id, message] : under_way_) {
      message->rate = 0;
      if (message->flows_from <= queue_.now() && network_.rate(id) >= 0) flowing.push_back(message.get());
    }
    // A message whose latency ends at this instant may have to wait for its event; nothing else is left to do now.
    if (queue_.next() == queue_.now()) return;
    std::erase_if(flowing, [](textbook::Demand* d) { return static_cast<Message*>(d)->bytes == 0; });
    textbook::fill(flowing, capacity_);
    std::vector<double> carried(capacity_.size(), 0);
    for (auto& [id, message] : under_way_) {
      const double rate = network_.rate(id), expected = static_cast<double>(message->rate);
      const double error = std::abs(rate - expected) / (expected > 0 ? expected : 1);
      worst_ = std::max(worst_, error);
      for (std::size_t k = 0; k < message->route.size(); ++k) carried[message->route[k]] += rate * message->volume(k);
    }
    for (std::size_t l = 0; l < carried.size(); ++l) CHECK(carried[l] <= capacity_[l] * (1 + 1e-9));
    CHECK(network_.flows() == under_way_.size());
    CHECK(network_.worst_overload() < 1e-9);
    if (lost_track_) return;
    for (LinkId l = 0; l < sent_.size(); ++l) CHECK(network_.use(l).bytes > sent_[l] - 1e-3);
  }

  std::mt19937 random_;
  bool volumes_;
  EventQueue queue_;
  Network network_;
  int actors_ = 0;
  bool hub_like_ = false, weighted_ = false, ties_ = false, settle_rarely_ = false, lost_track_ = false;
  std::vector<double> capacity_, sent_;
  std::map<FlowId, std::unique_ptr<Message>> under_way_;
  double worst_ = 0;
};

}  // namespace

double compare_closed_loop(std::uint32_t first, std::uint32_t number, bool volumes) {
  double worst = 0;
  for (std::uint32_t seed = first; seed < first + number; ++seed) {
    const double error = World(seed, volumes).run(300);
    CHECK_MESSAGE(error < 1e-9, "seed ", seed, ": a rate is off by ", error);
    worst = std::max(worst, error);
  }
  return worst;
}

TEST_CASE("rates in closed loops are max-min fair at every instant") {
  const char* given = std::getenv("STRAGGLER_INSTANCES");
  bool volumes = false;
  SUBCASE("plain flows") {}
  SUBCASE("uneven flows among them") { volumes = true; }
  const int number = given ? std::atoi(given) : volumes ? 500 : 1000;
  MESSAGE("largest relative difference of a rate: ", compare_closed_loop(1, static_cast<std::uint32_t>(number), volumes));
}

}  // namespace closed_loop_test
