// Format `chakra`: execution traces of Chakra, a file a rank.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/formats/reading.hpp"
#include "scenarios/import/chakra_trace.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/import/timed_job.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"

namespace straggler::import_chakra {
namespace {

int width_of(const ChakraTrace::Collective& each) {
  const std::string_view name = each.name;
  for (const char* part : {"half", "f16", "bf16", "bfloat16"})
    if (name.find(part) != std::string_view::npos) return 2;
  return 4;
}

class Job {
 public:
  explicit Job(const std::vector<GivenFile>& files) {
    job_.format = "chakra";
    job_.name = import_name(files, {"chakra", "trace"});
    for (const GivenFile& file : files) {
      job_.from.push_back(file.path().filename().string());
      traces_.push_back(read_chakra_trace(file));
    }
    if (files.size() > 1) job_.assumed.emplace_back("ranks in the order of the files");
  }

  Imported imported() {
    if (std::ranges::any_of(traces_, [](const ChakraTrace& trace) { return trace.kernels == 0; })) return figures();
    const ChakraTrace& first = traces_.front();
    job_.where = "a replay of its nodes";
    bool reduces = false, foreign = false;
    for (const ChakraTrace::Collective& each : first.collectives) {
      reduces = reduces || each.kind == TraceCollective::all_reduce;
      foreign = foreign || (each.kind != TraceCollective::all_reduce && each.kind != TraceCollective::broadcast);
    }
    job_.workers = static_cast<std::int64_t>(traces_.size());
    if (traces_.size() == 1 && !first.collectives.empty()) {
      job_.workers = 2;
      job_.assumed.emplace_back("2 ranks");
      job_.missing.emplace_back("the number of ranks");
      job_.missing.emplace_back(
          "the other ranks: times of collectives contain waiting for them, so no link is fitted; give the traces of all ranks");
    }
    job_.what = job_.workers == 1 ? std::string("a job on one device") : fmt::format("a job of {} ranks", job_.workers);
    for (std::size_t i = 0; i < traces_.size(); ++i) add_rank(i);
    job_.step = std::ranges::max_element(traces_, {}, &ChakraTrace::seconds)->seconds;
    job_.steps = {job_.step};
    if (foreign)
      one_bucket();
    else if (reduces)
      buckets();
    job_.holds_waiting = true;
    facts();
    return imported_job(std::move(job_));
  }

 private:
  void add_rank(std::size_t i) {
    const ChakraTrace& trace = traces_[i];
    TimedRank rank;
    rank.rank = static_cast<std::int64_t>(i);
    if (trace.backward_ends > trace.backward_begins) {
      rank.forward = trace.backward_begins;
      rank.backward = trace.backward_ends - trace.backward_begins;
      rank.update = trace.computing_ends - trace.backward_ends;
    } else {
      rank.forward = trace.computing_ends / 3;
      rank.backward = trace.computing_ends - rank.forward;
      if (i == 0) job_.assumed.emplace_back("a third of computing is forward: no node is called backward");
    }
    double reduced = trace.computing_ends;
    for (const ChakraTrace::Collective& each : trace.collectives)
      if (each.kind == TraceCollective::all_reduce) reduced = std::max(reduced, each.begin + each.seconds);
    rank.rest = std::max(0.0, trace.seconds - reduced);  // of the CPU
    job_.ranks.push_back(rank);
  }

  void buckets() {
    std::vector<std::vector<const ChakraTrace::Collective*>> all;  // [ranks]
    for (const ChakraTrace& trace : traces_) {
      all.emplace_back();
      for (const ChakraTrace::Collective& each : trace.collectives)
        if (each.kind == TraceCollective::all_reduce) all.back().push_back(&each);
    }
    bool same = true;
    for (const auto& of_rank : all) same = same && of_rank.size() == all.front().size();
    if (!same) job_.missing.emplace_back("transfers of collectives: ranks issued different ones");
    const ChakraTrace& first = traces_.front();
    const double backward = job_.ranks.front().backward;
    for (std::size_t b = 0; b < all.front().size(); ++b) {
      const ChakraTrace::Collective& each = *all.front()[b];
      TimedBucket bucket;
      bucket.element_bytes = width_of(each);
      if (each.bytes && *each.bytes >= 1) bucket.elements = *each.bytes / *bucket.element_bytes;
      bucket.ready = backward > 0 ? std::clamp((each.begin - first.backward_begins) / backward, 0.0, 1.0) : 1;
      bucket.seconds = each.seconds;
      for (const auto& of_rank : all)
        if (same) bucket.seconds = std::min(bucket.seconds, of_rank[b]->seconds);
      job_.buckets.push_back(bucket);
    }
    const auto unknown = [](const TimedBucket& bucket) { return !bucket.elements; };
    if (std::ranges::any_of(job_.buckets, unknown)) job_.missing.emplace_back("bytes of all-reduces: the trace has no comm_size");
  }

  /// What a scenario cannot express stands for one exchange behind backward, as long as a step is longer than its computing.
  void one_bucket() {
    double most = 0, bytes = 0;
    for (TimedRank& rank : job_.ranks) {
      rank.rest = 0;
      most = std::max(most, rank.work());
    }
    for (const ChakraTrace::Collective& each : traces_.front().collectives) bytes += each.bytes.value_or(0);
    TimedBucket bucket;
    if (bytes >= 1) bucket.elements = std::round(bytes / 4);
    bucket.element_bytes = 4;
    bucket.seconds = std::max(0.0, job_.step - most);
    job_.buckets = {bucket};
    job_.overlap = false;
    job_.assumed.emplace_back(
        "collectives that are no all-reduce cannot be expressed: one exchange behind backward, as long as a step is longer than computing");
  }

  void facts() {
    const ChakraTrace& first = traces_.front();
    Json all = Json::array();
    std::vector<std::string> sizes;
    for (const ChakraTrace::Collective& each : first.collectives) {
      all.push_back(
          {{"kind", name_of(each.kind)}, {"bytes", each.bytes ? Json(std::llround(*each.bytes)) : Json()}, {"seconds", each.seconds}});
      if (each.kind == TraceCollective::all_reduce)
        sizes.push_back(
            fmt::format("{} in {}", each.bytes ? readable_bytes(*each.bytes) : std::string("?"), readable_seconds(each.seconds)));
    }
    job_.facts["nodes"] = first.nodes;
    job_.facts["data_dependencies"] = first.dependencies;
    job_.facts["dependencies_on_missing_nodes"] = first.lost;
    job_.facts["gpu"] = {{"kernels", first.kernels}, {"computing_s", first.computing}};
    job_.facts["collectives"] = std::move(all);
    job_.said.emplace_back("GPU", fmt::format("{} in kernels ({}), one behind the other on their stream", readable_seconds(first.computing),
                                              readable_count(first.kernels)));
    if (!sizes.empty()) job_.said.emplace_back("buckets", some_of(sizes, 7));
    if (first.lost > 0) job_.missing.push_back(fmt::format("nodes that {} dependencies name", readable_count(first.lost)));
    job_.missing.emplace_back("samples of a batch");
  }

  /// No job: nothing computes.
  Imported figures() {
    facts();
    job_.missing.emplace_back("computing: no node computes on the GPU, so there is no step; record with Kineto, and link both");
    Imported imported;
    imported.name = job_.name;
    imported.said = {{"trace", fmt::format("{} nodes (chakra)", readable_count(traces_.front().nodes))}};
    for (auto& line : job_.said) imported.said.push_back(std::move(line));
    for (const std::string& sentence : job_.missing) imported.said.emplace_back("missing", sentence);
    Json json{{"format", "chakra"}, {"yields", "figures"}, {"files", job_.from}, {"step_s", Json()}};
    json.update(job_.facts);
    json["missing"] = job_.missing;
    json["assumed"] = Json::array();
    imported.files = {{"import.json", json_document(json)}};
    return imported;
  }

  TimedJob job_;
  std::vector<ChakraTrace> traces_;  // [ranks]
};

const Register<ImportFormat> chakra(ImportFormat{
    .name = "chakra",
    .summary = "an execution trace of Chakra, a file a rank",
    .example = "chakra_trace_link … && chakra_converter PyTorch --input linked.json --output chakra.0.et",
    .yields = "a job",
    .parameters = {},
    .recognizes = is_chakra,
    .read = [](const std::vector<GivenFile>& files, const Parameters&) { return Job(files).imported(); }});

}  // namespace
}  // namespace straggler::import_chakra
