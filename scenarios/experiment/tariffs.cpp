#include "scenarios/experiment/tariffs.hpp"

#include <fmt/format.h>

#include "sim/base/readable.hpp"

namespace straggler {

namespace {

const DeviceSpec& device_of(const Scenario& scenario, const WorkerGroup& group) { return scenario.devices.at(group.device); }

std::optional<double> price_of(const Scenario& scenario, const WorkerGroup& group) {
  return group.price_per_hour ? group.price_per_hour : device_of(scenario, group).price_per_hour;
}

Tariff tariff_of(const std::optional<double>& price, const std::optional<PowerSpec>& power, bool billed_while_down) {
  Tariff tariff;
  tariff.price_per_hour = price.value_or(0);
  tariff.billed_while_down = billed_while_down;
  if (power) tariff.power = {power->busy, power->communicating.value_or(power->idle), power->idle};
  return tariff;
}

}  // namespace

Tariffs tariffs_of(const Scenario& scenario, std::size_t servers, std::size_t aggregators) {
  const ClusterSpec& cluster = scenario.cluster;
  Tariffs all;
  all.currency = cluster.currency;
  all.joules_per_byte = cluster.network.energy_per_byte.value_or(0);
  all.powered = cluster.network.energy_per_byte.has_value();
  for (const WorkerGroup& group : cluster.workers) {
    const std::optional<double> price = price_of(scenario, group);
    const std::optional<PowerSpec>& power = device_of(scenario, group).power;
    all.priced = all.priced || price.has_value();
    all.powered = all.powered || power.has_value();
    const bool billed = group.billed_while_down.value_or(cluster.billed_while_down);
    all.groups.push_back({static_cast<std::size_t>(group.count), tariff_of(price, power, billed)});
  }
  if (servers + aggregators == 0) return all;
  all.servers = servers;
  all.aggregators = aggregators;
  all.server = tariff_of(cluster.servers.price_per_hour, cluster.servers.power, false);
  all.priced = all.priced || cluster.servers.price_per_hour.has_value();
  all.powered = all.powered || cluster.servers.power.has_value();
  return all;
}

std::string missing_prices(const Scenario& scenario) {
  if (tariffs_of(scenario, static_cast<std::size_t>(scenario.cluster.servers.count), 0).priced) return {};
  const std::string device = scenario.cluster.workers.empty() ? "NAME" : scenario.cluster.workers.front().device;
  return fmt::format("a price, and the scenario has none; write devices.{0}.price_per_hour, as --set devices.{0}.price_per_hour=2.49",
                     device);
}

std::string missing_power(const Scenario& scenario) {
  if (tariffs_of(scenario, static_cast<std::size_t>(scenario.cluster.servers.count), 0).powered) return {};
  const std::string device = scenario.cluster.workers.empty() ? "NAME" : scenario.cluster.workers.front().device;
  return fmt::format(
      "the power of the machines, and the scenario has none; write devices.{0}.power, as --set \"devices.{0}.power={{busy: 250W, idle: "
      "60W}}\"",
      device);
}

std::vector<std::string> cost_doubts(const Scenario& scenario) {
  std::vector<std::string> free, dark, doubts;
  const std::vector<WorkerGroup>& groups = scenario.cluster.workers;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!price_of(scenario, groups[g])) free.push_back(fmt::format("cluster.workers[{}]", g));
    if (!device_of(scenario, groups[g]).power) dark.push_back(fmt::format("cluster.workers[{}]", g));
  }
  const auto doubt = [&](const std::vector<std::string>& without, const char* sum, const char* key) {
    if (!without.empty() && without.size() < groups.size())
      doubts.push_back(fmt::format("{} leaves out {}, which {} no {}", sum, listed(without), without.size() == 1 ? "has" : "have", key));
  };
  doubt(free, "the price", "price_per_hour");
  doubt(dark, "the energy", "power");
  return doubts;
}

}  // namespace straggler
