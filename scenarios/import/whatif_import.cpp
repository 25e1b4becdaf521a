// Format `whatif`: operations of a job with pipeline stages, as ByteDance publishes them (github.com/ByteDance-Seed/StragglerAnalysis).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "scenarios/import/import_format.hpp"
#include "scenarios/import/pipeline_replay.hpp"
#include "scenarios/import/rank_rows.hpp"
#include "scenarios/results/json.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"

namespace straggler::import_whatif {
namespace {

constexpr std::uintmax_t largest_table = 1 << 30;
constexpr std::int64_t most_numbered = 1'000'000;  // ranks, stages, micro-batches
constexpr std::size_t most_kinds = 64;

/// The first of the names that the table has; names.size(): none.
std::size_t column_of(const RankRows& rows, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const std::size_t at = rows.column(name); at < rows.names().size()) return at;
  return rows.names().size();
}

std::int64_t whole(const RankRows& rows, std::size_t column, const std::string& file, std::int64_t least) {
  const std::optional<double> number = rows.number(column, static_cast<double>(least));
  if (!number || std::round(*number) != *number || *number > 1e12)
    refuse_table(file,
                 fmt::format("line {}: {} is no whole number from {}; write one", rows.line(), on_one_line(rows.names()[column]), least));
  return static_cast<std::int64_t>(*number);
}

class Table {
 public:
  explicit Table(const GivenFile& file) : shown_(file.shown().string()) {
    if (file.size() > largest_table) refuse_table(shown_, "has more than a GiB; give fewer steps");
    const std::string text = file.text(largest_table);
    RankRows rows(text, shown_);
    const std::size_t rank = column_of(rows, {"dp_rank", "dp"}), stage = column_of(rows, {"stage", "pp_rank"}),
                      step = column_of(rows, {"step"}), kind = column_of(rows, {"optype"}), begin = column_of(rows, {"start_ts"}),
                      seconds = column_of(rows, {"duration"}), sequence = column_of(rows, {"seq_id"}), chunk = column_of(rows, {"mc"}),
                      micro_batch = column_of(rows, {"mb_id"});
    const std::size_t none = rows.names().size();
    for (const auto& [column, name] : {std::pair(rank, "dp_rank"), std::pair(stage, "stage"), std::pair(step, "step"),
                                       std::pair(begin, "start_ts"), std::pair(seconds, "duration"), std::pair(micro_batch, "mb_id")})
      if (column == none) refuse_table(shown_, fmt::format("is a table of a pipeline's operations without the column {}; add it", name));
    std::map<std::string, std::uint32_t, std::less<>> numbers;
    while (rows.next()) {
      PipelineOperation& made = operations.emplace_back();
      const std::string_view name = rows.text(kind);
      const auto known = numbers.find(name);
      made.kind = known == numbers.end() ? static_cast<std::uint32_t>(kinds.size()) : known->second;
      if (known == numbers.end()) {
        if (kinds.size() == most_kinds) refuse_table(shown_, "has more than 64 kinds of operations; get the original table");
        kinds.emplace_back(name);
        numbers.emplace(name, made.kind);
      }
      const std::int64_t of_rank = whole(rows, rank, shown_, 0), of_stage = whole(rows, stage, shown_, 0);
      if (std::max(of_rank, of_stage) > most_numbered)
        refuse_table(shown_, fmt::format("line {}: numbers a rank or a stage above a million; number them from 0", rows.line()));
      made.rank = static_cast<std::uint32_t>(of_rank);
      made.stage = static_cast<std::uint32_t>(of_stage);
      made.step = whole(rows, step, shown_, 0);
      made.sequence = sequence == none ? 0 : whole(rows, sequence, shown_, -1);
      made.chunk = std::max<std::int64_t>(0, chunk == none ? 0 : whole(rows, chunk, shown_, -1));
      made.micro_batch = whole(rows, micro_batch, shown_, -1);
      if (made.chunk > most_numbered)
        refuse_table(shown_, fmt::format("line {}: mc is above a million; get the original table", rows.line()));
      made.begin = rows.number(begin, -1e15).value_or(0);
      made.seconds = rows.number(seconds, 0).value_or(0);
    }
    if (operations.empty()) refuse_table(shown_, "has no row of an operation; get the whole table");
  }

  PipelineSlowdowns slowdowns() const {
    try {
      return pipeline_slowdowns(operations, kinds);
    } catch (const std::invalid_argument& error) {
      refuse_table(shown_, error.what());
    }
  }

  std::vector<PipelineOperation> operations;
  std::vector<std::string> kinds;

 private:
  std::string shown_;
};

bool recognizes(const FileStart& start) {
  return start.bytes.find('\0') == std::string_view::npos && is_pipeline_table(table_columns(start.bytes));
}

std::string worker_text(const PipelineSlowdowns& found, std::size_t worker) {
  return fmt::format("rank {}, stage {}", worker / found.stages, worker % found.stages);
}

Imported read(const std::vector<GivenFile>& files, const Parameters&) {
  const GivenFile& file = files.front();
  if (files.size() > 1) refuse_table(file.shown().string(), "and the others are tables of a job each; name one of them");
  const Table table(file);
  const PipelineSlowdowns found = table.slowdowns();

  Json kinds = Json::object();
  for (std::size_t k = 0; k < table.kinds.size(); ++k)
    if (found.by_kind[k] > 0) kinds[on_one_line(table.kinds[k])] = found.by_kind[k];
  Json workers = Json::array(), slowest = Json::array();
  for (std::size_t worker = 0; worker < found.by_worker.size(); ++worker)
    workers.push_back({{"rank", worker / found.stages}, {"stage", worker % found.stages}, {"S", found.by_worker[worker]}});
  for (const std::size_t worker : found.slowest) slowest.push_back({{"rank", worker / found.stages}, {"stage", worker % found.stages}});
  const std::vector<std::string> missing = {
      "a job that runs: stages of a pipeline cannot be expressed, and a replica as one worker would hide who slows whom"};
  const std::vector<std::string> assumed = {
      "even is what the source takes: the mean of a computation's kind, the median of a transfer's (explain takes its own)",
      "messages between stages take no time beside the waiting that they contain"};
  Json json{{"format", "whatif"},
            {"yields", "figures"},
            {"files", {file.path().filename().string()}},
            {"describes", fmt::format("a job of {} ranks in {} stages", found.ranks, found.stages)},
            {"ranks", found.ranks},
            {"stages", found.stages},
            {"steps_replayed", found.steps},
            {"steps_left_out", found.left_out},
            {"step_s", found.replayed},
            {"recorded_step_s", found.recorded},
            {"even_step_s", found.even},
            {"S", found.all},
            {"S_t", std::move(kinds)},
            {"S_w", {{"by_rank", found.by_rank}, {"by_stage", found.by_stage}, {"workers", std::move(workers)}}},
            {"S_w_of_workers", found.workers_are_bounds ? "the lesser of rank and stage" : "replayed"},
            {"M_W", found.slowest_share},
            {"slowest_workers", std::move(slowest)},
            {"M_S", found.last_stage_share}};
  json["missing"] = missing;
  json["assumed"] = assumed;

  Imported imported;
  imported.name = import_name(file, {"trace"});
  imported.said = {{"job", fmt::format("a pipeline of {} stages, {} ranks (whatif)", found.stages, found.ranks)},
                   {"step", fmt::format("{} replayed, {} recorded, mean of {} step{}", readable_seconds(found.replayed),
                                        readable_seconds(found.recorded), found.steps, found.steps == 1 ? "" : "s")},
                   {"S", fmt::format("{:.3f}: with even operations a step takes {}, {} less", found.all, readable_seconds(found.even),
                                     readable_share(1 - found.even / found.replayed))}};
  const auto stage = static_cast<std::size_t>(std::ranges::max_element(found.by_stage) - found.by_stage.begin());
  const auto rank = static_cast<std::size_t>(std::ranges::max_element(found.by_rank) - found.by_rank.begin());
  imported.said.emplace_back("S_w", fmt::format("stage {} alone {:.3f}, rank {} alone {:.3f}: as recorded, the others even", stage,
                                                found.by_stage[stage], rank, found.by_rank[rank]));
  std::size_t kind = 0;
  for (std::size_t k = 0; k < table.kinds.size(); ++k)
    if (found.by_kind[k] > found.by_kind[kind]) kind = k;
  imported.said.emplace_back("S_t", fmt::format("{} alone {:.3f}", on_one_line(table.kinds[kind]), found.by_kind[kind]));
  imported.said.emplace_back("M_W", fmt::format("{:.3f} of the loss comes back if the slowest 3 % of the workers ({}) are even",
                                                found.slowest_share, worker_text(found, found.slowest.front())));
  imported.said.emplace_back("M_S", fmt::format("{:.3f} if the last stage is{}", found.last_stage_share,
                                                found.last_stage_share > 1 ? ": it has more than its part of the work" : ""));
  if (!found.left_out.empty())
    imported.said.emplace_back("left out", fmt::format("{} step{} whose operations do not fit together", found.left_out.size(),
                                                       found.left_out.size() == 1 ? "" : "s"));
  for (const std::string& sentence : assumed) imported.said.emplace_back("assumed", sentence);
  for (const std::string& sentence : missing) imported.said.emplace_back("missing", sentence);
  imported.files = {{"import.json", json_document(json)}};
  return imported;
}

const Register<ImportFormat> whatif(ImportFormat{
    .name = "whatif",
    .summary = "operations of a pipeline job by rank and stage (CSV)",
    .example = "python3 -c \"import pandas; pandas.read_parquet('trace.parquet').to_csv('trace.csv', index=False)\"",
    .yields = "a job",
    .parameters = {},
    .recognizes = recognizes,
    .read = read});

}  // namespace
}  // namespace straggler::import_whatif
