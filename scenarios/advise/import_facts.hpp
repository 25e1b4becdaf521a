// What an import found of a job that its scenario cannot hold: import.json.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace straggler {

/// The rank that others wait for, in the collectives of a step.
struct LastRank {
  std::int64_t rank = 0, next = 0;  // next: the rank that comes last without it
  std::size_t times = 0, of = 0;    // collectives at which it comes last, of those with waits; 0: the file has sums alone
  double seconds = 0, in_all = 0;   // by which the first of them would end earlier; the next rank's waiting in all of the file
};

/// Of a pipeline, replayed with even operations in part: shares of the seconds of a step that each would save.
struct PipelineFacts {
  double step = 0;                     // seconds
  double even = 0;                     // all operations
  double last_stage = 0, slowest = 0;  // the last stage; the slowest 3 % of the workers
  std::string slowest_workers;         // "rank 1, stage 3"
  std::string kind;                    // of operations that costs most; empty: not said
  double of_kind = 1;                  // its S_t
};

struct ImportFacts {
  std::string what;                      // "a DDP job of 2 ranks"; empty: not said
  std::size_t ranks = 0;                 // that were measured
  std::vector<std::int64_t> called;      // [ranks] their names, in the order of the workers
  std::size_t steps = 0;                 // that were measured
  bool log = false;                      // one time a step for all ranks, with all that is in it
  std::optional<double> waits_for_data;  // of a log: the share of all its time, start-up and stalls included
  std::optional<double> step;            // seconds
  std::optional<double> gpu_computing;   // seconds of a step in which rank 0's GPU computes
  std::optional<double> exposed;         // and in which it communicates without computing
  bool exchange = true;                  // the files tell what the ranks exchange
  bool all_to_all = false;               // model parallel
  bool sharded = false;                  // no rank has weights of its own
  std::optional<LastRank> last;
  std::optional<PipelineFacts> pipeline;
  std::vector<std::string> uneven;  // sentences: parts of a step of which a rank has more
  std::vector<std::string> missing, assumed;
};

/// A job as it was given: a scenario, or the folder of an import.
struct GivenJob {
  std::filesystem::path scenario;                 // of files that describe no job: not there
  std::optional<std::filesystem::path> imported;  // import.json, where an import wrote both
};
/// Throws DataError of a folder that holds neither.
GivenJob given_job(const std::filesystem::path& given);

/// Of the folder of an import. Throws DataError where import.json cannot be read.
ImportFacts import_facts(const std::filesystem::path& file);

}  // namespace straggler
