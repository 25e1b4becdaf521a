#include "sim/network/flow.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <unordered_set>
#include <vector>

using namespace straggler;
using fluid::FlowIndex;

namespace {
struct Nobody final : Arrival {
  void arrived() override {}
};
}  // namespace

TEST_CASE("after a burst of flows has left, no name and no stamp of a place comes again") {
  constexpr FlowIndex burst = 200'000;  // memory goes back when few have been left for long
  Nobody nobody;
  fluid::FlowTable flows;
  std::unordered_set<FlowId> names;
  std::vector<FlowIndex> places;
  for (FlowIndex i = 0; i < burst; ++i) {
    places.push_back(flows.add_pair(i, i + 1, 5, 1, nobody));
    flows[places.back()].stamp += i % 7;  // as often as it was bound
    names.insert(flows.id(places.back()));
  }
  CHECK(names.size() == burst);

  const FlowIndex stays = places[burst / 2];
  const FlowId its_name = flows.id(stays);
  std::vector<std::uint32_t> stamps;
  std::vector<FlowIndex> left;
  for (const FlowIndex i : places) {
    stamps.push_back(flows[i].stamp);
    if (i == stays) continue;
    flows.retire(i);
    flows.release(i);
    left.push_back(i);
  }
  for (FlowIndex k = 0; k < burst; ++k) {
    const FlowIndex i = flows.add_pair(1, 2, 7, 1, nobody);
    REQUIRE(i == left.back());
    REQUIRE(names.insert(flows.id(i)).second);
    stamps[i] = flows[i].stamp;
    flows.retire(i);
    flows.release(i);
  }
  CHECK(flows.size() == 1);
  CHECK(flows.find(its_name) == stays);
  CHECK(flows[stays].route()[0] == burst / 2);
  CHECK(flows[stays].bytes == 5);
  for (const FlowId name : names) REQUIRE((name == its_name || flows.find(name) == fluid::none));

  while (!left.empty()) {  // the last one first
    const FlowIndex i = flows.add_pair(1, 2, 7, 1, nobody);
    REQUIRE(i == left.back());
    left.pop_back();
    REQUIRE(flows[i].stamp > stamps[i]);
    REQUIRE(flows.find(flows.id(i)) == i);
    REQUIRE(names.insert(flows.id(i)).second);
  }
  CHECK(flows.places() == burst);
  CHECK(flows[stays].route()[1] == burst / 2 + 1);
}
