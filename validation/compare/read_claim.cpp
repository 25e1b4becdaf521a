#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "scenarios/results/summary.hpp"
#include "scenarios/schema/file_kind.hpp"
#include "scenarios/schema/flow_yaml.hpp"
#include "scenarios/schema/part.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/suggest.hpp"
#include "validation/compare/claim_parts.hpp"

namespace straggler {

namespace {
using Shape = ScenarioKey::Shape;

void read_values(ReadContext& context, const YamlNode* node, const std::string& path, BindTarget& target) {
  if (node == nullptr) return;
  if (node->type != YamlNode::Type::map || node->items.empty()) {
    context.problems.add(node->place, path, "is " + what_stands(*node) + "; write a map from words of the column to values, {SGD: ssgd}");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i) target.values.emplace_back(node->keys[i].name, flow_yaml(node->items[i]));
}

Part<BindTarget> bind_part() {
  std::vector<Field<BindTarget>> fields = path_fields<BindTarget>();
  fields.push_back(read_by<BindTarget>({.name = "values",
                                        .meaning = "value to write for each word of the column, such as `{\"ring\": {kind: ssgd}}`",
                                        .otherwise = "the cell itself",
                                        .form = "map from words to values",
                                        .shape = Shape::entries_of,
                                        .keys = {{.name = "WORD", .shape = Shape::any}}},
                                       [](Section& section, BindTarget& target) {
                                         read_values(section.context(), section.find("values"), section.path_of("values"), target);
                                       }));
  fields.push_back(
      field(&BindTarget::unit,
            {.name = "unit", .type = ValueType::text, .meaning = "unit that is appended to a number: `unit: MB`", .form = "unit"}));
  return Part<BindTarget>(std::move(fields));
}

BindTarget read_target(ReadContext& context, const YamlNode& node, const std::string& path, Place place) {
  BindTarget target;
  if (node.type != YamlNode::Type::map) {
    target.paths = read_texts(context, &node, path, "write a path of the scenario, a list of paths, or {path: …, values: {…}}");
    return target;
  }
  Section section(context, &node, path, place);
  bind_part().read(section, target);
  section.finish();
  if (target.unit.empty()) return target;
  if (!target.values.empty()) section.problem("unit", "is for columns of numbers, but values maps words; remove one of them");
  try {
    unit_factor(target.unit);
  } catch (const std::invalid_argument& error) {
    section.problem("unit", error.what());
  }
  return target;
}

/// A path or map; a list of paths; or a list of these, for paths that convert the cell differently.
Bind read_bind(ReadContext& context, const YamlNode& node, const std::string& column, const std::string& path, Place place) {
  Bind bind{column, {}, place};
  const auto is_map = [](const YamlNode& item) { return item.type == YamlNode::Type::map; };
  if (node.type != YamlNode::Type::sequence || std::none_of(node.items.begin(), node.items.end(), is_map)) {
    bind.targets.push_back(read_target(context, node, path, place));
    return bind;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i)
    bind.targets.push_back(read_target(context, node.items[i], item_path(path, i), node.items[i].place));
  return bind;
}

std::vector<ScenarioKey> bind_forms() {
  const ScenarioKey path{.type = ValueType::text}, map{.name = "COLUMN", .shape = Shape::map, .keys = bind_part().keys()};
  return {path, {.shape = Shape::list_of, .keys = {path, map}}, map};
}

void read_binds(Section& top, Claim& claim) {
  const YamlNode* node = top.find("bind");
  if (node == nullptr) return;
  if (node->type != YamlNode::Type::map) {
    top.problem("bind", "is " + what_stands(*node) + "; write a map from columns to paths such as {nodes: \"cluster.workers[0].count\"}");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    claim.bind.push_back(read_bind(top.context(), node->items[i], node->keys[i].name, "bind." + node->keys[i].name, node->keys[i].place));
}

/// A fixed change with its source.
Part<FixedSet> set_part() {
  return Part<FixedSet>({
      read_by<FixedSet>({.name = "value", .meaning = "value for the path", .required = true, .shape = Shape::any},
                        [](Section& section, FixedSet& set) {
                          if (const YamlNode* value = section.require("value", "write the value for the path"))
                            set.yaml = flow_yaml(*value);
                        }),
      read_by<FixedSet>({.name = "source",
                         .type = ValueType::text,
                         .meaning = "source of the value: a data sheet, a table, a line of the study; a value without one gives a warning",
                         .otherwise = "none, and a warning"},
                        [](Section& section, FixedSet& set) {
                          const YamlNode* source = section.find("source");
                          if (source == nullptr) return;
                          set.source = section.word("source");
                          if (set.source.find_first_not_of(" \t\n") == std::string::npos)
                            section.problem("source", "is " + what_stands(*source) + "; write the source of the value");
                        }),
  });
}

/// `{value: …, source: …}`; anything else is the value itself.
FixedSet read_set(ReadContext& context, const YamlNode& node, const std::string& path, Place place) {
  FixedSet set{path, {}, {}, place};
  const auto declares = [](const YamlNode::Key& key) { return key.name == "value" || key.name == "source"; };
  if (node.type != YamlNode::Type::map || std::none_of(node.keys.begin(), node.keys.end(), declares)) {
    set.yaml = flow_yaml(node);
    return set;
  }
  Section section(context, &node, "set." + path, place);
  set_part().read(section, set);
  section.finish();
  return set;
}

void read_sets(Section& top, Claim& claim) {
  const YamlNode* node = top.find("set");
  if (node == nullptr) return;
  if (node->type != YamlNode::Type::map) {
    top.problem("set", "is " + what_stands(*node) + "; write a map from paths of the scenario to values");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    claim.set.push_back(read_set(top.context(), node->items[i], node->keys[i].name, node->keys[i].place));
}
/// Above 1 only with %: `5` may mean 5 %, but would be 500 %.
std::optional<double> read_share(Section& section, const char* key) {
  const std::optional<double> share = section.measure(key, ValueType::fraction, Range::above(0));
  if (!share || *share <= 1) return share;
  const std::string& text = section.find(key)->text;
  if (text.find('%') == std::string::npos)
    section.problem(key, in_quotes(text) + " is a share above 1; write " + text + "%, or " + fmt::format("{:.6g}", *share * 100) +
                             "% if that is meant");
  return share;
}

Part<Claim> bound_part() {
  const auto share = [](const char* name, const char* meaning) {
    return ScenarioKey{.name = name,
                       .type = ValueType::fraction,
                       .range = Range::above(0),
                       .meaning = meaning,
                       .otherwise = "none; one of the two is required",
                       .form = "share"};
  };
  return Part<Claim>({
      read_by<Claim>(share("mape", "bound on the mean error of the held-out rows: `2%` or `0.02`; a bound above 1 needs `%`"),
                     [](Section& section, Claim& claim) { claim.bound_mape = read_share(section, "mape"); }),
      read_by<Claim>(share("max", "bound on the largest error of a held-out row; a claim without it is not counted"),
                     [](Section& section, Claim& claim) { claim.bound_max = read_share(section, "max"); }),
  });
}

void check_bound(Section& section, Claim&) {
  if (section.given() && !section.has("mape") && !section.has("max") && !section.misspelt({"mape", "max"}))
    section.context().problems.add(section.place(), section.path(), "bounds nothing; write {mape: 2%, max: 4%} or one of them");
}

std::filesystem::path read_path(Section& top, const char* key, const char* remedy) {
  const YamlNode* node = top.require(key, remedy);
  Parameter parameter;
  parameter.name = key;
  parameter.type = ValueType::path;
  const std::optional<Value> value = node == nullptr ? std::nullopt : read_value(top.context(), *node, key, parameter);
  return value ? std::get<std::string>(*value) : std::string();
}

/// `later` overrides `earlier`: the same path, or one above it.
bool replaces(const std::string& later, const std::string& earlier) {
  return earlier.starts_with(later) && (earlier.size() == later.size() || earlier[later.size()] == '.' || earlier[later.size()] == '[');
}

/// A change that a later one overrides has no effect, contrary to the claim.
void check_replaced(Section& top, const Claim& claim) {
  struct Change {
    std::string path, who;
  };
  std::vector<Change> earlier;
  const auto add = [&](const std::vector<std::string>& paths, const std::string& who, Place place) {
    std::vector<Change> own;
    for (const std::string& path : paths) {
      const auto replaced = [&](const Change& change) { return replaces(path, change.path); };
      for (const std::vector<Change>* changes : {&earlier, &own})
        if (const auto found = std::find_if(changes->begin(), changes->end(), replaced); found != changes->end())
          top.context().problems.add(place, who, path + " replaces what " + found->who + " sets; keep one of them");
      own.push_back({path, who});
    }
    earlier.insert(earlier.end(), own.begin(), own.end());
  };
  for (const Bind& bind : claim.bind) add(bind.paths(), "bind." + bind.column, bind.place);
  if (!claim.fit) return;
  for (std::size_t i = 0; i < claim.fit->parameters.size(); ++i)
    add(claim.fit->parameters[i].paths, item_path("fit.parameters", i), claim.fit->parameters[i].place);
}

constexpr ChoiceTable<Claim::Kind> claim_kind("kind", {{Claim::Kind::prediction, "prediction"}, {Claim::Kind::replay, "replay"}});

Part<Claim> claim_part() {
  const auto file = [](const char* name, const char* meaning) {
    return ScenarioKey{.name = name, .type = ValueType::path, .meaning = meaning, .required = true};
  };
  return Part<Claim>({
      read_before<Claim>({.name = "claim",
                          .type = ValueType::count,
                          .meaning = "version of the format",
                          .required = true,
                          .form = "`1`",
                          .choices = {"1"}}),
      field(&Claim::kind, claim_kind,
            {.meaning =
                 "`replay`: the scenario's figures come from the measured file itself, as an import's do; it says how complete they are, "
                 "and is never counted among claims"}),
      field(&Claim::title, {.name = "title",
                            .type = ValueType::text,
                            .meaning = "the claim, in one line",
                            .required = true,
                            .remedy = "write what is claimed, in a line"}),
      field(&Claim::source, {.name = "source", .type = ValueType::text, .meaning = "origin of the measured table"}),
      field(&Claim::attempt,
            {.name = "attempt",
             .type = ValueType::count,
             .range = Range::between(1, 1e6),
             .meaning = "number of versions of the claim or of its model that were tested on these rows, this one included"}),
      field(&Claim::seeds, {.name = "seeds",
                            .type = ValueType::count,
                            .range = Range::between(1, 1e6),
                            .meaning = "number of runs that a prediction is the mean of: with the scenario's seed, the next one and so on; "
                                       "a row in which nothing is random is run once"}),
      read_by<Claim>(file("scenario", "the scenario that predicts, relative to the claim's folder"),
                     [](Section& top, Claim& claim) {
                       claim.scenario = read_path(top, "scenario", "write the path of the scenario that predicts");
                       claim.scenario_place = top.place_of("scenario");
                     }),
      read_by<Claim>(file("measured", "the measured table (CSV), relative to the claim's folder"),
                     [](Section& top, Claim& claim) {
                       claim.measured = read_path(top, "measured", "write the path of the measured table (CSV)");
                       claim.measured_place = top.place_of("measured");
                     }),
      read_by<Claim>({.name = "set",
                      .meaning = "fixed changes of the scenario, each with its source: `PATH: {value: …, source: …}`, or the value alone",
                      .form = "map from paths to values",
                      .shape = Shape::entries_of,
                      .keys = {{.shape = Shape::any}, {.name = "PATH", .shape = Shape::map, .keys = set_part().keys()}}},
                     read_sets),
      read_by<Claim>(
          {.name = "bind",
           .meaning =
               "path that gets the value of the cell; or a list of such paths; or a map with the keys below; or a list of paths and maps",
           .form = "map from columns to paths",
           .shape = Shape::entries_of,
           .keys = bind_forms()},
          read_binds),
      read_by<Claim>({.name = "where",
                      .meaning = "rows to use: a map gives each column a value, a list of values or a map with the keys below, and all "
                                 "must match; of a list of maps one must match",
                      .otherwise = "all rows",
                      .form = "`{COLUMN: value or list}`",
                      .shape = Shape::one_of,
                      .keys = {{.shape = Shape::entries_of, .keys = pattern_forms()},
                               {.shape = Shape::list_of, .keys = {{.shape = Shape::entries_of, .keys = {pattern_form()}}}}}},
                     [](Section& top, Claim& claim) { claim.where = read_patterns(top.context(), top.find("where"), "where"); }),
      map(&Claim::compare,
          {.name = "compare",
           .meaning = "the measured column and the predicted metric",
           .required = true,
           .remedy = "write compare: {column: …, metric: …}"},
          compare_part(), check_compare),
      map(&Claim::fit, {.name = "fit", .meaning = "the fitted values, and the rows they are fitted on", .otherwise = "nothing is fitted"},
          fit_part()),
      map<Claim>({.name = "bound",
                  .meaning = "largest errors on held-out rows",
                  .required = true,
                  .remedy = "write the largest error on held-out rows, as bound: {mape: 2%, max: 4%}"},
                 bound_part(), check_bound),
      field(&Claim::timing_only,
            {.name = "timing_only",
             .meaning = "`false` runs the math even if the metric does not need it (for example if a target accuracy ends the run)",
             .otherwise = "as the metric needs"}),
  });
}

void check_claim(Section& top, const Claim& claim) {
  if (claim.kind == Claim::Kind::replay && claim.fit)
    top.problem("fit", "fits values, but a replay repeats what was measured; remove it, or kind: replay");
  check_replaced(top, claim);
  if (claim.timing_only.value_or(false) && (needs_math(claim.compare.metric) || needs_math(claim.compare.divide_by)))
    top.problem("timing_only", "is true, and " + claim.compare.metric + " needs the math; remove it, or compare times");
}

bool only_comments(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t first = line.find_first_not_of(" \t"); first != std::string::npos && line[first] != '#') return false;
  return true;
}

}  // namespace

std::vector<std::string> Bind::paths() const {
  std::vector<std::string> all;
  for (const BindTarget& target : targets) all.insert(all.end(), target.paths.begin(), target.paths.end());
  return all;
}
bool Bind::words() const {
  return std::any_of(targets.begin(), targets.end(), [](const BindTarget& target) { return !target.values.empty(); });
}

std::vector<ScenarioKey> claim_keys() { return claim_part().keys(); }

Claim read_claim(const std::filesystem::path& file) {
  const auto places = std::make_shared<Places>(std::vector<std::string>{file.string()});
  Problems problems(*places);
  Claim claim;
  claim.file = file;
  claim.places = places;
  const std::optional<std::string> text = read_text(file, problems, {"claim", "claim: 1"});
  std::optional<YamlNode> root;
  if (text && only_comments(*text))
    problems.add(whole_file, {}, "there is nothing in it; write a claim that begins with 'claim: 1'");
  else if (text)
    root = parse_yaml(*text, 0, problems);
  if (root && root->type != YamlNode::Type::map) {
    problems.add(root->place, "claim", "is " + what_stands(*root) + "; write a map (keys with values) that begins with 'claim: 1'");
  } else if (root && !is_of_another_kind(*root, FileKind::claim, file, problems)) {
    ReadContext context{Vocabulary::from_registries(), problems, file.parent_path()};
    Section top(context, &*root, "", Place{});
    if (is_of_another_version(top, FileKind::claim)) problems.raise();
    claim_part().read(top, claim);
    top.finish();
    check_claim(top, claim);
  }
  problems.raise();
  return claim;
}

ScenarioErrors named_by_claim(const Claim& claim, Place place, const char* key, const std::filesystem::path& file,
                              const ScenarioErrors& errors) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(file, ignored)) return errors;
  std::vector<Problem> problems;
  for (const Problem& problem : errors.problems) problems.push_back(claim.places->problem(place, key, problem.line()));
  return ScenarioErrors(std::move(problems));
}

}  // namespace straggler
