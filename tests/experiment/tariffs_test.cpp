// Keys of prices and power: what they give, what they need, and that a written scenario keeps them.
#include "scenarios/experiment/tariffs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/writer.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

Scenario with(const Sets& sets) { return read_scenario_text(scenario_text({}), "test.yaml", sets); }

std::string refused(const Sets& sets) {
  try {
    with(sets);
  } catch (const ScenarioErrors& errors) {
    return errors.what();
  }
  return {};
}

bool refuses(const Sets& sets, const char* text) {
  const std::string said = refused(sets);
  CAPTURE(said);
  const bool found = said.find(text) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("power of a device: communicating is idle, idle is nothing, busy is needed unless the profile's data sheet has it") {
  const Tariffs some = tariffs_of(with({"devices.node.power={busy: 250W, idle: 60W}"}), 1, 0);
  CHECK(some.powered);
  CHECK_FALSE(some.priced);
  CHECK(some.groups.at(0).tariff.power.busy == 250);
  CHECK(some.groups.at(0).tariff.power.communicating == 60);
  CHECK(tariffs_of(with({"devices.node.power={busy: 5W}"}), 1, 0).groups.at(0).tariff.power.idle == 0);
  const Sets sheet = {"workload.cost={model: resnet50}", "devices.node={profile: h100, power: {idle: 70W}}"};
  CHECK(tariffs_of(with(sheet), 1, 0).groups.at(0).tariff.power.busy == 700);
  CHECK_FALSE(tariffs_of(with({"workload.cost={model: resnet50}", "devices.node={profile: h100}"}), 1, 0).any());
  refuses({"devices.node.power={idle: 60W}"},
          "devices.node.power.busy: is missing; write the power of a machine that computes, such as 250W");
  refuses({"devices.node.power={bussy: 60W}"}, "did you mean 'busy'?");
  refuses({"devices.node.power=250W"}, "devices.node.power");
  refuses({"devices.node.power={busy: 250}"}, "devices.node.power.busy: 250 has no unit; write 250W, 250mW, 250kW or 250MW");
  refuses({"cluster.servers={count: 1, power: {idle: 5W}}"}, "cluster.servers.power.busy: is missing");
}

TEST_CASE("a group's price counts instead of its device's; a group decides whether it pays while it is down") {
  const Scenario scenario = with({"devices.node.price_per_hour=2.49", "cluster.billed_while_down=true",
                                  "cluster.workers=[{count: 2, device: node}, {count: 3, device: node, price_per_hour: 0.75/h, "
                                  "billed_while_down: false}]",
                                  "cluster.servers={count: 2, price_per_hour: 0.1}", "cluster.currency=CHF"});
  const Tariffs all = tariffs_of(scenario, 2, 3);
  CHECK(all.priced);
  CHECK_FALSE(all.powered);
  CHECK(all.currency == "CHF");
  REQUIRE(all.groups.size() == 2);
  CHECK(all.groups[0].workers == 2);
  CHECK(all.groups[0].tariff.price_per_hour == 2.49);
  CHECK(all.groups[0].tariff.billed_while_down);
  CHECK(all.groups[1].tariff.price_per_hour == 0.75);
  CHECK_FALSE(all.groups[1].tariff.billed_while_down);
  CHECK(all.server.price_per_hour == 0.1);
  CHECK(all.servers == 2);
  CHECK(all.aggregators == 3);
  // Machines that the scheme does not use cost nothing.
  CHECK_FALSE(tariffs_of(with({"cluster.servers={count: 2, price_per_hour: 0.1}"}), 0, 0).any());
}

TEST_CASE("wrong prices, currencies and energies are refused at their places") {
  refuses({"devices.node.price_per_hour=-1"}, "devices.node.price_per_hour: '-1' is negative; write a price per hour of 0 or more");
  refuses({"devices.node.price_per_hour=2.49 EUR"}, "has an unknown unit 'EUR'; units of a price per hour: /h");
  refuses({"cluster.workers[0].price_per_hour=[1]"}, "is a list; write a price per hour such as 2.49");
  refuses({"cluster.currency=a very long name"},
          "cluster.currency: is no label of a currency; write a word of at most 12 bytes, such as EUR");
  refuses({"cluster.currency=EUR"}, "cluster.currency: is a label of prices, and there is none; add devices.node.price_per_hour: 2.49");
  CHECK(refused(Sets{"cluster.currency=EUR", "cluster.servers={count: 1, price_per_hour: 1}"}).empty());
  refuses({"devices.node.power={busy: 60W, idle: 250W}"}, "devices.node.power.idle: 250W is above busy, 60W");
  refuses({"devices.node={profile: h100, power: {idle: 701W}}", "workload.cost={model: resnet50}"}, "idle: 701W is above busy, 700W");
  refuses({"cluster.servers={count: 1, power: {busy: 1W, idle: 2W}}"}, "cluster.servers.power.idle: 2W is above busy, 1W");
  refuses({"cluster.network.energy_per_byte=5nJ"}, "did you mean 'nJ/B'?");
  refuses({"cluster.billed_while_down=yes"}, "is neither true nor false");
}

TEST_CASE("a scenario that is written and read again costs the same; one without costs has none of the keys") {
  const Scenario scenario = with({"devices.node.price_per_hour=0.1", "devices.node.power={busy: 2.5kW, idle: 80W, communicating: 90W}",
                                  "cluster.workers[0].price_per_hour=3e-3", "cluster.workers[0].billed_while_down=false",
                                  "cluster.servers={count: 1, price_per_hour: 1, power: {busy: 1W}}",
                                  "cluster.network.energy_per_byte=10pJ/bit", "cluster.currency=EUR", "cluster.billed_while_down=true"});
  const std::string text = write_scenario(scenario);
  CHECK(read_scenario_text(text, "test.yaml") == scenario);
  CHECK(text.find("power: {busy: 2500W, idle: 80W, communicating: 90W}") != std::string::npos);
  CHECK(scenario.cluster.network.energy_per_byte.value() == doctest::Approx(80e-12));
  const std::string plain = write_scenario(with({}));
  for (const char* const key : {"price", "power", "currency", "energy", "billed"}) CHECK(plain.find(key) == std::string::npos);
}

TEST_CASE("a comparison by price or energy says what a scenario lacks") {
  CHECK(missing_prices(with({})).starts_with("a price, and the scenario has none; write devices.node.price_per_hour"));
  CHECK(missing_power(with({})).starts_with("the power of the machines, and the scenario has none; write devices.node.power"));
  CHECK(missing_prices(with({"cluster.workers[0].price_per_hour=1"})).empty());
  CHECK(missing_power(with({"cluster.network.energy_per_byte=1nJ/B"})).empty());
}
