#include "scenarios/schema/intra_part.hpp"

#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/read_parts.hpp"

namespace straggler {

namespace {

Part<LevelSpec> level_part(const char* workers, const char* bandwidth, const char* latency) {
  return Part<LevelSpec>({
      field(&LevelSpec::workers, {.name = "workers",
                                  .type = ValueType::count,
                                  .range = Range::between(1, 1e6),
                                  .meaning = workers,
                                  .otherwise = "required, or the machine's"}),
      field(&LevelSpec::bandwidth, {.name = "bandwidth",
                                    .type = ValueType::rate,
                                    .range = any_rate(),
                                    .meaning = bandwidth,
                                    .otherwise = "required, or the machine's"}),
      field(&LevelSpec::latency,
            {.name = "latency", .type = ValueType::time, .range = any_time(), .meaning = latency, .otherwise = "`0s`, or the machine's"}),
  });
}

/// The given values replace single figures of the machine.
Field<IntraSpec> level_field(std::optional<LevelSpec> IntraSpec::*member, ScenarioKey key, const Part<LevelSpec>& part) {
  key.otherwise = "none, or the machine's";
  Field<IntraSpec> made = map(member, key, part);
  made.read = [member, key, part](Section& intra, IntraSpec& spec) {
    if (intra.find(key.name) == nullptr) return;
    Section level = intra.section(key.name);
    const bool known = (spec.*member).has_value();
    if (!known) {
      level.require("workers", "write how many neighbouring workers it joins, such as 4");
      level.require("bandwidth", "write a rate such as 10GB/s");
    }
    LevelSpec read = known ? *(spec.*member) : LevelSpec();
    part.read(level, read);
    level.finish();
    spec.*member = read;
  };
  return made;
}

constexpr ChoiceTable<CardSpec::At> at_choice("at", {{CardSpec::At::beside, "beside"},
                                                     {CardSpec::At::pcie_switch, "switch"},
                                                     {CardSpec::At::bus, "bus"}});

Part<CardSpec> card_part() {
  return Part<CardSpec>({
      field(&CardSpec::workers, {.name = "workers",
                                 .type = ValueType::count,
                                 .range = Range::between(1, 1e6),
                                 .meaning = "neighbouring workers that share a card; each card is like the host's `link`",
                                 .required = true,
                                 .remedy = "write how many neighbouring workers have a card, such as 2"}),
      field(&CardSpec::at, at_choice,
            {.meaning =
                 "place of a card: on its workers' `switch`; on the `bus` above all switches, so that messages to other hosts cross the "
                 "links to it; or `beside` the switches"}),
  });
}

}  // namespace

Part<IntraSpec> intra_part() {
  Field<IntraSpec> machine = field(&IntraSpec::machine, {.name = "machine",
                                                         .type = ValueType::text,
                                                         .meaning = "takes all other keys from it; keys beside it override single figures",
                                                         .otherwise = "none",
                                                         .form = "name of a built-in machine: `straggler list machines`"});
  machine.read = [](Section& intra, IntraSpec& spec) {
    const YamlNode* node = intra.find("machine");
    if (node == nullptr) return;
    const std::string name = intra.word("machine");
    if (node->type != YamlNode::Type::scalar) return;  // reported already
    const Vocabulary& vocabulary = intra.context().vocabulary;
    if (const Word* known = vocabulary.find(KindGroup::machine, name); known != nullptr && known->fill_intra)
      known->fill_intra(spec);
    else
      intra.context().problems.add(
          node->place, intra.path_of("machine"),
          unknown_kind(KindGroup::machine, name_of(KindGroup::machine), name, vocabulary.names(KindGroup::machine)));
  };
  const auto replaced = [](Field<LinkSpec> of_link, const char* remedy) {
    Field<IntraSpec> made{of_link.key, {}, {}, {}};
    made.read = [read = of_link.read, key = of_link.key, remedy](Section& intra, IntraSpec& spec) {
      if (!intra.has("machine")) intra.require(key.name, remedy);
      if (intra.find(key.name) == nullptr) return;
      read(intra, spec);
      if (key.name == "bandwidth") spec.down = spec.up;
    };
    made.write = [write = of_link.write](Texts& out, const IntraSpec& spec, const WriteContext& context) { write(out, spec, context); };
    made.same = [same = of_link.same](const IntraSpec& a, const IntraSpec& b) { return same(a, b); };
    return made;
  };
  return Part<IntraSpec>({
      machine,
      replaced(
          field(
              &LinkSpec::up,
              {.name = "bandwidth",
               .type = ValueType::rate,
               .range = any_rate(),
               .meaning =
                   "bandwidth of each worker's link to the others of its host, or to weights in its memory; without `intra` both are free",
               .otherwise = "required, or the machine's"}),
          "write a rate such as 12GB/s"),
      replaced(field(&LinkSpec::latency, {.name = "latency",
                                          .type = ValueType::time,
                                          .range = any_time(),
                                          .meaning = "latency of the whole path",
                                          .otherwise = "required, or the machine's"}),
               "write a time such as 5us"),
      written_if<IntraSpec>(
          [](const IntraSpec& spec) { return spec.while_computing != 1; },
          field(&IntraSpec::while_computing, {.name = "while_computing",
                                              .type = ValueType::number,
                                              .range = Range::between(0.001, 1),
                                              .meaning = "share of `bandwidth` that remains for a worker's link while it computes "
                                                         "([model.md](model.md#network))"})),
      level_field(&IntraSpec::pcie_switch, {.name = "switch", .meaning = "several switches in a host ([model.md](model.md#network))"},
                  level_part("neighbours on one switch", "bandwidth of each switch's uplink, and of its downlink",
                             "added when a message leaves a switch")),
      level_field(&IntraSpec::socket, {.name = "socket", .meaning = "several processors above the switches"},
                  level_part("neighbours below one processor, a multiple of `switch.workers`",
                             "bandwidth of its link to the others, and of the link back", "added when a message leaves it")),
      level_field(&IntraSpec::nvlink, {.name = "nvlink", .meaning = "groups that reach each other without the bus"},
                  level_part("neighbours in a group", "bandwidth of each worker's link", "latency of the whole path")),
      map(&IntraSpec::card,
          {.name = "card", .meaning = "several network cards in a host ([model.md](model.md#network))", .otherwise = "one"}, card_part()),
  });
}

void check_intra(Section& intra, IntraSpec& spec) {
  if (intra.context().problems.any()) return;
  if (spec.card && spec.card->at == CardSpec::At::pcie_switch) {
    if (!spec.pcie_switch)
      intra.problem("card", "sits on a switch, and there is none; add switch: {workers: 4, bandwidth: 10GB/s}, or write at: bus");
    else if (spec.pcie_switch->workers % spec.card->workers != 0)
      intra.problem("card", "is one for " + std::to_string(spec.card->workers) + " workers, which are no whole part of a switch of " +
                                std::to_string(spec.pcie_switch->workers) + "; write a divisor of it");
  }
  if (!spec.socket || !spec.pcie_switch) return;
  if (spec.socket->workers % spec.pcie_switch->workers != 0)
    intra.problem("socket", "joins " + std::to_string(spec.socket->workers) + " workers, which is not a multiple of the switches' " +
                                std::to_string(spec.pcie_switch->workers) + "; write a multiple of it");
}

}  // namespace straggler
