#include "scenarios/advise/import_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "models/data/dataset.hpp"
#include "scenarios/import/imported.hpp"
#include "scenarios/results/json.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace {

constexpr std::size_t largest_import = 64 << 20;

std::optional<double> number(const Json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && at != json.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

Json part(const Json& json, const char* key) { return json.is_object() && json.contains(key) ? json.at(key) : Json(); }

/// Seconds by rank: a list, of `called`, or an object.
std::vector<std::pair<std::int64_t, double>> by_rank(const Json& waits, const std::vector<std::int64_t>& called) {
  std::vector<std::pair<std::int64_t, double>> out;
  if (waits.is_object()) {
    for (const auto& [rank, seconds] : waits.items())
      if (seconds.is_number() && rank.size() < 10 && rank.find_first_not_of("0123456789") == std::string::npos)
        out.emplace_back(std::stoll(rank), seconds.get<double>());
  } else if (waits.is_array()) {
    std::int64_t place = 0;
    for (const Json& seconds : waits) {
      const auto at = static_cast<std::size_t>(place);
      if (seconds.is_number()) out.emplace_back(at < called.size() ? called[at] : place, seconds.get<double>());
      ++place;
    }
  }
  std::ranges::stable_sort(out, {}, &std::pair<std::int64_t, double>::second);
  return out;
}

/// Who waits least is late; who waits least of the others comes last without it.
std::optional<LastRank> last_of(const Json& waits, const std::vector<std::int64_t>& called) {
  const auto order = by_rank(waits, called);
  if (order.size() < 2 || !(order[1].second > 0)) return std::nullopt;
  return LastRank{order[0].first, order[1].first, 0, 0, order[1].second - order[0].second, order[1].second - order[0].second};
}

std::optional<LastRank> last_rank(const Json& json, const std::vector<std::int64_t>& called) {
  std::optional<LastRank> all = last_of(part(json, "waits_s"), called);
  std::map<std::int64_t, LastRank> ranks;
  std::size_t count = 0;
  const Json collectives = part(json, "collectives");
  for (const Json& each : collectives) {
    const std::optional<LastRank> last = last_of(part(each, "waits_s"), called);
    if (!last) continue;
    ++count;
    LastRank& known = ranks.try_emplace(last->rank, *last).first->second;
    ++known.times;
  }
  if (!all) return std::nullopt;
  const auto found = ranks.find(all->rank);
  if (found == ranks.end()) return all;
  found->second.of = count;
  found->second.in_all = all->seconds;
  // A table of sums has a row for each size, not for each collective.
  if (number(collectives.front(), "count")) return LastRank{all->rank, all->next, 0, 0, all->seconds, all->in_all};
  return found->second;
}

/// "input-straggler, input_wait_ms: rank 0 has 200 ms more than rank 1"; empty: ranks are alike in it.
std::string uneven_part(const Json& json) {
  constexpr double alike = 1.05;
  const std::optional<double> more = number(json, "more_s"), times = number(json, "times"), most = number(json, "most_rank"),
                              least = number(json, "least_rank");
  const Json name = part(json, "part"), group = part(json, "group");
  if (!more || !times || *times < alike || !most || !least || !name.is_string()) return {};
  return fmt::format("{}{}: rank {:.0f} has {} more than rank {:.0f}", group.is_string() ? group.get<std::string>() + ", " : std::string(),
                     name.get<std::string>(), *most, readable_seconds(*more), *least);
}

std::vector<std::string> sentences(const Json& list) {
  std::vector<std::string> out;
  for (const Json& sentence : list)
    if (sentence.is_string()) out.push_back(sentence.get<std::string>());
  return out;
}

/// Of `whatif`, which describes no job.
std::optional<PipelineFacts> pipeline_of(const Json& json) {
  const std::optional<double> step = number(json, "step_s"), even = number(json, "even_step_s"), last = number(json, "M_S"),
                              slowest = number(json, "M_W");
  if (!number(json, "stages") || !step || !even || !last || !slowest || !(*step > 0)) return std::nullopt;
  PipelineFacts facts;
  facts.step = *step;
  facts.even = std::max(0.0, 1 - *even / *step);
  facts.last_stage = *last * facts.even;
  facts.slowest = *slowest * facts.even;
  for (const Json& worker : part(json, "slowest_workers"))
    if (const std::optional<double> rank = number(worker, "rank"), stage = number(worker, "stage"); rank && stage)
      facts.slowest_workers += fmt::format("{}rank {:.0f}, stage {:.0f}", facts.slowest_workers.empty() ? "" : "; ", *rank, *stage);
  const Json kinds = part(json, "S_t");
  if (kinds.is_object())
    for (const auto& [kind, own] : kinds.items())
      if (own.is_number() && own.get<double>() > facts.of_kind) {
        facts.kind = kind;
        facts.of_kind = own.get<double>();
      }
  return facts;
}

}  // namespace

GivenJob given_job(const std::filesystem::path& given) {
  std::error_code error;
  GivenJob job{given, {}};
  const bool is_folder = std::filesystem::is_directory(given, error);
  const std::filesystem::path folder = is_folder ? given : given.parent_path();
  if (is_folder) job.scenario = folder / "scenario.yaml";
  const std::filesystem::path facts = folder / "import.json";
  if (std::filesystem::exists(facts, error) &&
      (!std::filesystem::exists(job.scenario, error) || first_line(job.scenario).starts_with(import_mark)))
    job.imported = facts;
  if (is_folder && !job.imported && !std::filesystem::exists(job.scenario, error))
    throw DataError(given.string() +
                    ": holds no scenario.yaml and no import.json; give a scenario, or the folder that straggler import wrote");
  return job;
}

ImportFacts import_facts(const std::filesystem::path& file) {
  const FileText read = read_file(file, largest_import + 1);
  if (read.fault != FileFault::none || read.text.size() > largest_import)
    throw DataError(file.string() + ": cannot be read; give the folder that straggler import wrote");
  const Json json = Json::parse(read.text, nullptr, false);
  if (!json.is_object() || !json.contains("format"))
    throw DataError(file.string() + ": is no import.json of straggler import; import the files again");
  ImportFacts facts;
  if (const Json what = part(json, "describes"); what.is_string()) facts.what = what.get<std::string>();
  facts.step = number(json, "step_s");
  std::vector<std::int64_t> called;
  for (const Json& rank : part(json, "ranks"))
    if (const std::optional<double> name = number(rank, "rank")) called.push_back(static_cast<std::int64_t>(*name));
  facts.ranks = called.size();
  facts.called = called;
  const Json format = part(json, "format"), steps = part(json, "steps");
  facts.log = format.is_string() && format.get<std::string>() == "steplog";
  facts.steps = steps.is_array() ? steps.size() : 0;
  facts.waits_for_data = number(json, "loader_share");
  facts.pipeline = pipeline_of(json);
  facts.gpu_computing = number(part(json, "gpu"), "computing_s");
  facts.exposed = number(part(json, "gpu"), "exposed_s");
  for (const Json& each : part(json, "collectives")) {
    const Json kind = part(each, "kind");
    facts.all_to_all = facts.all_to_all || (kind.is_string() && kind.get<std::string>() == "all_to_all");
  }
  facts.exchange = part(json, "exchange") != Json(false);
  facts.sharded = !part(json, "sharding").is_null();
  facts.last = last_rank(json, called);
  for (const Json& each : part(json, "parts")) facts.uneven.push_back(uneven_part(each));
  std::erase(facts.uneven, std::string());
  facts.missing = sentences(part(json, "missing"));
  facts.assumed = sentences(part(json, "assumed"));
  return facts;
}

}  // namespace straggler
