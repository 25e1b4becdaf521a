// A job whose steps were measured, as a folder that runs: what every format of measured steps fills in, and what is written of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/import/imported.hpp"
#include "scenarios/results/json.hpp"

namespace straggler {

/// Seconds of a step, in the mean.
struct TimedRank {
  std::int64_t rank = 0;                    // the worker's number
  std::optional<std::int64_t> called = {};  // as the files call it, if by another number
  double forward = 0, backward = 0, update = 0;
  double loader = 0;                // waits for a batch that is prepared when it is needed
  double rest = 0;                  // the host's, between the others
  std::optional<double> wait = {};  // in collectives, for ranks that come later
  std::vector<double> works = {};   // [steps] seconds, whose mean is work(); empty: the files do not tell
  std::int64_t name() const { return called.value_or(rank); }
  double work() const { return forward + backward + update + loader + rest; }
};

struct TimedBucket {
  std::optional<double> elements = {};
  std::optional<int> element_bytes = {};
  double ready = 1;    // share of backward
  double seconds = 0;  // of its collective
};

/// A loader that binds: so many processes, each this long for a batch.
struct TimedLoader {
  std::int64_t processes = 1;
  double batch_seconds = 0;
};

struct TimedJob {
  std::string name, format, what;  // what: a noun phrase
  std::vector<std::string> from;   // names of the files
  std::string where;               // behind "# from FILE": "mean of 3 steps, rank 0"
  std::vector<double> steps;       // seconds, the steady ones
  double step = 0;                 // their mean
  std::vector<TimedRank> ranks;    // that were measured, in order; not empty
  std::int64_t workers = 1;        // of the job
  bool work_of_host = false;       // computing takes the host's time, whatever the batch is
  std::vector<TimedBucket> buckets;
  bool holds_waiting = false;  // times of buckets contain waiting for other ranks
  bool overlap = true;         // buckets leave during backward
  std::optional<TimedLoader> loader = {};
  std::optional<std::int64_t> batch = {};                 // samples of a worker
  std::vector<std::string> assumed, missing;              // sentences
  std::vector<std::pair<std::string, std::string>> said;  // lines of the summary, behind what and step
  Json facts = Json::object();                            // more of import.json
  std::optional<HostNetwork> hosts = {};                  // that it runs on
  std::string jitter = {};                                // factors on the ranks' times, for jitter: {kind: trace}; empty: none
};

/// scenario.yaml, import.json, measured.csv, claim.yaml, and where there are buckets layers.csv and collectives.csv.
Imported imported_job(TimedJob job);

/// How much faster a step would be if all ranks worked as long as their mean, in all steps where those are known by rank (S), and with one
/// rank alone as slow as it is (S_w).
struct Slowdown {
  double even = 0;  // seconds of a step
  double all = 1;
  std::vector<double> by_rank;  // [ranks]
};
Slowdown slowdown_of(const TimedJob& job);

/// jitter.csv: factors on each rank's mean of `seconds` [ranks][steps], a row a step. Empty where all steps take the same.
std::string step_factors(const std::vector<std::vector<double>>& seconds);

double mean_seconds(const std::vector<double>& values);
double median_seconds(std::vector<double> values);

}  // namespace straggler
