// Format `pytorch_et`: an execution trace of PyTorch has no times. With the profiler's trace of the same job it adds what that one misses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/formats/reading.hpp"
#include "scenarios/import/execution_trace.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/results/json.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"

namespace straggler::import_execution {
namespace {

ExecutionTrace only(const std::vector<GivenFile>& files) {
  if (files.size() > 1)
    throw DataError(files.front().shown().string() + " and others: are execution traces of a rank each; name one of them");
  return read_execution_trace(files.front());
}

Imported read(const std::vector<GivenFile>& files, const Parameters&) {
  const ExecutionTrace trace = only(files);
  Json collectives = Json::array(), buckets = Json::array();
  std::vector<std::string> sizes;
  for (const ExecutionTrace::Collective& each : trace.collectives) {
    const Json bytes = each.element_bytes ? Json(std::llround(each.elements * *each.element_bytes)) : Json();
    collectives.push_back({{"kind", name_of(each.kind)}, {"elements", std::llround(each.elements)}, {"bytes", bytes}});
    if (each.kind != TraceCollective::all_reduce) continue;
    buckets.push_back({{"bytes", bytes}, {"elements", std::llround(each.elements)}, {"seconds", Json()}});
    sizes.push_back(each.element_bytes ? readable_bytes(each.elements * *each.element_bytes) : std::string("?"));
  }
  std::vector<std::string> missing = {"times: an execution trace has none; give the profiler's trace of the same job (kineto), too"};
  if (!trace.batch) missing.emplace_back("samples of a batch: no layer's input has a shape");
  Imported imported;
  imported.name = import_name(files.front(), {"et", "trace", "execution_trace"});
  imported.said = {{"job", fmt::format("{} operations of {} iteration{} (pytorch_et)", readable_count(trace.nodes), trace.iterations,
                                       trace.iterations == 1 ? "" : "s")}};
  if (trace.batch)
    imported.said.emplace_back(
        "batch", fmt::format("{} samples a rank: the first layer's input is {}", *trace.batch, fmt::join(trace.input, " x ")));
  if (trace.gradients > 0)
    imported.said.emplace_back("gradients", readable_count(static_cast<std::uint64_t>(trace.gradients)) + " numbers an iteration");
  if (!sizes.empty()) imported.said.emplace_back("buckets", some_of(sizes, 7));
  for (const std::string& sentence : missing) imported.said.emplace_back("missing", sentence);
  Json json{{"format", "pytorch_et"},
            {"yields", "figures"},
            {"files", {files.front().path().filename().string()}},
            {"schema", text_or_null(trace.schema)},
            {"nodes", trace.nodes},
            {"iterations", trace.iterations},
            {"world_size", json_or_null(trace.ranks)},
            {"batch", json_or_null(trace.batch)},
            {"input", trace.input},
            {"parameters", static_cast<std::int64_t>(trace.gradients)},
            {"step_s", Json()},
            {"buckets", std::move(buckets)},
            {"collectives", std::move(collectives)}};
  json["missing"] = missing;
  json["assumed"] = Json::array();
  imported.files = {{"import.json", json_document(json)}};
  return imported;
}

const Register<ImportFormat> pytorch_et(ImportFormat{
    .name = "pytorch_et",
    .summary = "an execution trace of PyTorch: shapes, no times",
    .example = "o = torch.profiler.ExecutionTraceObserver(); o.register_callback(\"et.json\"); o.start(); …",
    .yields = "a job without times",
    .parameters = {},
    .recognizes = is_execution_trace,
    .read = read,
    .joins = [](const std::vector<GivenFile>& files, Companions& companions) {
      companions.execution = only(files);
      companions.execution_file = on_one_line(files.front().path().filename().string());
    }});

}  // namespace
}  // namespace straggler::import_execution
