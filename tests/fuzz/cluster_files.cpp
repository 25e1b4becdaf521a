// Networks and traces.
#include "sim/cluster/availability.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/cluster/graph_file.hpp"
#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {
namespace {

template <const char* Name>
void graph(std::string_view input) {
  const std::string file = write_file(Name, input);
  may_refuse<std::invalid_argument>([&] { read_network_graph(file); });
}
constexpr char graphml_name[] = "network.graphml", dot_name[] = "network.dot";
const AddTarget add_graphml("graphml", "a network in GraphML", graph<graphml_name>);
const AddTarget add_dot("dot", "a network in DOT", graph<dot_name>);

void jitter(std::string_view input) {
  static const JitterEntry& entry = Registry<JitterEntry>::instance().at("trace");
  const std::string file = write_file("jitter.csv", input);
  may_refuse<std::invalid_argument>([&] {
    for (const bool resampled : {false, true}) {
      Parameters given{{"path", file}};
      if (resampled) given.set("rows", std::string("resampled"));
      const std::unique_ptr<Jitter> made = entry.make_of(complete(entry.parameters, given), {3, 1});
      for (const std::uint64_t quantum : {0ull, 1ull, ~0ull})
        if (!(made->factor(7, quantum) > 0)) throw Find("a factor that is not above 0");
    }
  });
}
const AddTarget add_jitter("jitter_trace", "factors of a jitter", jitter);

void availability(std::string_view input) {
  static const AvailabilityEntry& entry = Registry<AvailabilityEntry>::instance().at("trace");
  const std::string file = write_file("availability.csv", input);
  for (const double repeat : {0.0, 1e5}) {
    may_refuse<std::invalid_argument>([&] {
      Parameters given{{"path", file}};
      if (repeat > 0) given.set("repeat", repeat);
      const std::unique_ptr<Availability> made = entry.make(complete(entry.parameters, given));
      if (!(made->share() >= 0 && made->share() <= 1 + 1e-9)) throw Find("a share of " + std::to_string(made->share()));
      Time at;
      for (std::uint64_t k = 0; k < 20 && at != Time::never(); ++k) {
        const Spell spell = made->spell({1, 2}, k, at);
        if (spell.until <= at) throw Find("a spell that ends before it begins");
        at = spell.until;
      }
    });
  }
}
const AddTarget add_availability("availability_trace", "the spells of clients", availability);

}  // namespace
}  // namespace straggler::fuzz
