// The record of a run: the content of all result files, in ticks, bytes and counts.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/key.hpp"
#include "sim/base/rank.hpp"
#include "sim/engine/time.hpp"
#include "sim/record/costs.hpp"
#include "sim/record/phase.hpp"

namespace straggler {

struct TimeSplit : ByPhase<Time> {
  Time total() const {
    Time sum;
    for (const Time part : parts) sum += part;
    return sum;
  }
};

struct WorkerRecord {
  TimeSplit split;
  Time bytes_in_flight;       // all time with its bytes in flight, hidden behind compute or not
  Time overlapped;            // the part of it in which the worker was not blocked
  std::uint64_t samples = 0;  // in published contributions
  std::uint64_t updates = 0;  // published contributions
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::uint64_t staleness_sum = 0, staleness_max = 0;  // over those contributions
};

struct EpochRecord {
  std::uint64_t epoch = 0;  // 1, 2, …; the last may be partial
  Time start, end;
  ByPhase<double> mean_seconds;  // over workers
  std::uint64_t bytes_sent = 0;
};

struct CurvePoint {
  Time time;
  std::uint64_t update = 0, round = 0, samples = 0, bytes_sent = 0;
  double epoch = 0;
  std::optional<double> train_loss, train_accuracy, test_loss, test_accuracy;  // none: not evaluated (timing alone)
  Costs costs = {};                                                            // so far
  bool lost = false;                                                           // its version was lost in a rollback
};

/// e^loss: symbols that the model hesitates between at a place, as many as a guess among so many would have.
std::optional<double> perplexity(const std::optional<double>& loss);

struct LinkRecord {
  std::string name, from, to;
  double bytes_per_second = 0, bytes = 0;
  Time busy;
  double longest_queue_bytes = 0, mean_queue_bytes = 0;  // where messages are packets; the mean is that over the run's time
  std::uint64_t lost_packets = 0, timeouts = 0;          // where queues have an end; timeouts: of connections that begin here
};

/// Rows that are made on demand: a million workers have two million links.
struct LinkTable {
  std::size_t size = 0;
  bool queues = false;  // messages were packets
  bool losses = false;  // and queues had an end
  std::function<LinkRecord(std::size_t)> row;
  /// Of the row its bytes and bytes per second, without the names, which take longer to make; empty: there is no shorter way.
  std::function<std::pair<double, double>(std::size_t)> load = {};
};

enum class Outcome : std::uint8_t {
  completed,
  target_reached,
  diverged,
  interrupted,
  aborted,           // a worker failed, and on_failure is abort
  all_workers_down,  // no member is left, and none will come back
  stalled,           // all that is left waits for a message that will not come
  overloaded,        // more messages arrive at a mailbox than its owner handles
};
const char* name_of(Outcome outcome);
/// The run could not continue: a fault ended it, or an overload.
constexpr bool cannot_go_on(Outcome outcome) { return outcome >= Outcome::aborted; }
/// The run came to its stop, so its results are those of all of its work.
constexpr bool is_finished(Outcome outcome) { return outcome == Outcome::completed || outcome == Outcome::target_reached; }

/// When an accuracy was reached: the first of `sustain` evaluations in a row at which it held. It may fall below it later.
struct Reached {
  double accuracy = 0;
  std::optional<CurvePoint> at;    // none: never (censored)
  std::optional<Time> last_below;  // the last evaluation below it before that; none: there was none
};

/// (staleness, contributions), ascending.
using StalenessHistogram = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// A failure, or what was done about failures.
enum class RecoveryAct : std::uint8_t { failure, checkpoint, rollback };
struct RecoveryEvent {
  Time at;
  RecoveryAct act = RecoveryAct::failure;
  std::string unit = {};                                                      // that failed
  std::uint64_t update = 0;                                                   // the version that was saved, or from which work goes on
  static constexpr std::array names = {"failure", "checkpoint", "rollback"};  // by act
};

/// Failures, and what they have cost.
struct RecoveryRecord {
  bool there = false;  // the run may be rolled back, or has failures at random
  std::uint64_t rollbacks = 0, lost_updates = 0;
  WideTicks lost = 0;                 // of all workers, waiting included
  Time productive;                    // of the run: all but what was lost, and stops to save and recover
  std::vector<RecoveryEvent> events;  // the first ones
  static constexpr std::size_t most_events = 10'000;
  bool notes() const { return events.size() < most_events; }
};

struct RunRecord {
  std::string name, scheme;
  std::uint64_t seed = 0;
  bool symbols = false;  // the data are symbols of a vocabulary: losses have a perplexity
  Outcome outcome = Outcome::completed;
  std::string stalled;  // who waits for whom; empty: the run has not stalled
  Time end;
  std::uint64_t updates = 0, rounds = 0, samples = 0;
  double epochs = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0, bytes_lost = 0;
  std::uint64_t statistics_bytes = 0;          // of bytes_sent: batch norm's running statistics
  double spared_bytes = 0;                     // bytes that compression has saved; negative: added
  std::optional<double> compression_ratio;     // bytes without compression / bytes_sent; none: nothing is compressed, or sent
  std::uint64_t bytes_up = 0, bytes_down = 0;  // towards and from servers; in an all-reduce, bytes sent and received by workers
  struct {
    std::uint64_t contributions = 0, samples = 0, bytes = 0;
  } dropped;                        // contributions that arrived and went into no version
  std::uint64_t empty_updates = 0;  // versions without contributions: rounds in which no client answered in time
  struct {
    std::uint64_t lost = 0;         // went away while they took part in a round
    std::optional<double> present;  // mean share of time in which one was present; none: all are, always
  } clients;
  std::optional<std::uint64_t> failures;  // of units; none: no unit fails again and again, and the run is not rolled back
  /// What the workers would do together if each trained alone, in closed form: with its own batch, or with the global batch (`strong`), in
  /// so many micro-batches as its memory needs.
  struct {
    std::optional<double> samples_per_second;  // none: unknown
    bool strong = false;
    std::int64_t micro_batches = 1;
  } alone;
  Costs costs;
  std::string currency;  // empty: it has no name
  RecoveryRecord recovery;
  std::uint64_t samples_drawn = 0;  // by workers; those beyond `samples` were discarded, lost, or in progress at the stop
  std::uint64_t events = 0;
  StalenessHistogram staleness;
  std::vector<CurvePoint> curve;
  std::vector<EpochRecord> epochs_record;
  std::vector<WorkerRecord> workers;
  std::vector<std::uint32_t> worker_groups;  // [workers]
  std::vector<std::string> group_devices;    // [groups], names
  LinkTable links;
  std::optional<double> final_train_loss, final_train_accuracy, final_test_loss, final_test_accuracy;
  std::optional<double> guessing_accuracy;  // share of the most frequent label in the test set; none: there are no labels, or timing alone
  std::optional<std::uint64_t> skipped_updates;  // none: the loss scale is not dynamic, or timing alone
  std::optional<double> final_loss_scale;
  std::optional<double> noise_scale;  // samples; none: it was not asked for, or it cannot be told
  std::optional<double> target_accuracy;
  std::int64_t sustain = 2;
  std::vector<double> thresholds;
  std::optional<std::string> weights_key;
  std::vector<std::string> warnings;  // sentences for the user
};

/// Applies the rule of `Reached` to a curve (test accuracy, which is validation accuracy with that split). Lost versions do not count.
Reached reached(const std::vector<CurvePoint>& curve, double accuracy, std::int64_t sustain);

/// A message that has arrived or was lost.
struct MessageTrace {
  Rank from = 0, to = 0;
  const char* what = "";  // "weights", "kept vector", "gradient", "samples", "token"
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> version;  // of the weights in it, or at which it was computed
  Time sent, left, arrived;              // first byte leaves, last byte has left, arrival; `arrived` of a lost one: when it was lost
  bool lost = false;
};

/// A collective, or one piece of it: a bucket, the running statistics.
struct CollectiveTrace {
  const char* what = "";  // "all-reduce", "all-gather"
  std::size_t piece = 0, pieces = 1, members = 0;
  std::uint64_t bytes = 0;  // of one member's vector
  Time start, end;
  std::optional<Rank> waited_for;  // the last arrival; none: it began when the piece before it was complete
};

/// Receives events that are too many for memory, in the order in which they happen.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// One row of order.csv.
  virtual void contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t read_version, std::uint64_t first_position,
                            std::uint32_t steps, std::uint64_t samples) = 0;
  /// No version up to this one will be lost.
  virtual void kept(std::uint64_t /*update*/) {}
  /// The versions after this one are lost.
  virtual void rolled_back(std::uint64_t /*update*/) {}
  /// One row of choices.csv: process is a rank (workers 0 .. p-1, then servers); what receive-from-anyone took (a rank), or
  /// which branch of a wait won (0 or 1). If workers draw from one pool, process `ranks + w` makes worker w's draws: the samples between
  /// its last draw and this one; or its next batch, where batches are rebalanced.
  virtual void choice(Rank process, std::int32_t choice) = 0;
  /// One row of epochs.csv, when the epoch ends. True: it is kept here, and not in the record.
  virtual bool epoch(const EpochRecord&) { return false; }
  /// With `--trace` only: a worker's activity from `start` to `end`.
  virtual void span(Rank worker, Phase phase, Time start, Time end) = 0;
  /// With `--trace` only, of a computation whose gradient leaves in buckets, or that others' weights interrupt: its backward pass, or that
  /// of a micro-batch. Its span() follows.
  virtual void backward_pass(Rank /*worker*/, Time /*from*/, Time /*to*/) {}
  /// With `--trace` only: this much time reported as computing was wasted, since its result was dropped.
  virtual void wasted(Rank, Time) {}
  virtual void message(const MessageTrace&) {}
  virtual void collective(const CollectiveTrace&) {}
  /// A server or aggregator is busy with `what`: "handles a message", "sends a message", "updates weights".
  virtual void served(Rank, const char*, Time, Time) {}
  /// Every few events: the bytes that each link has carried so far. The size is the number of links.
  virtual void links(Time, std::size_t, const std::function<double(std::size_t)>&) {}
};

}  // namespace straggler
