// The real back end: one process of the scheme on this rank, driven by a loop over MPI, timers and a compute thread. Real time, real
// messages, and values that are evaluated at once.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/compute_plan.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/mailbox.hpp"
#include "sim/record/own_versions.hpp"
#include "sim/training/node.hpp"
#include "sim/training/received_signals.hpp"
#include "validation/mpi/channel.hpp"
#include "validation/mpi/compute_thread.hpp"
#include "validation/mpi/rank_log.hpp"
#include "validation/mpi/ring_gather.hpp"
#include "validation/mpi/ring_mean.hpp"
#include "validation/mpi/waiting.hpp"

namespace straggler {

/// This rank or another has thrown: what() has the rank and its error.
struct RankFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The task of a rank. Referenced objects outlive the back end.
struct RankTask {
  const TrainingPlan& plan;
  const Scheme& scheme;
  bool has_server = false;
  bool reduces = false;      // workers call collectives
  bool votes = false;        // they exchange by all-reduce: they stop together, by a vote that goes around their ring
  bool emulated = true;      // a gradient takes its drawn time; false: its real time
  ComputePlan compute = {};  // the draws
  StopRule stop = {};
  EvaluationRule evaluation = {};
  Cut cut = {};                                                   // of a vector
  const std::atomic<bool>* interrupted = nullptr;                 // set: the run ends as soon as possible; null: it cannot be interrupted
  std::function<void(Time, const Weights&)> published = nullptr;  // called for every update, where they are published
  /// Likewise for every update but the last, with the optimizer's state.
  std::function<void(Time, const Weights&, const std::vector<Handle>&)> go_on = nullptr;
};

/// A state from which a job of synchronous SGD continues.
struct EarlierState {
  Weights weights;                // of a version
  std::vector<Handle> optimizer;  // its vectors
  std::int64_t began = 0;         // the job, in ns of the system's clock; only where versions are published
};

class MpiBackend final : public Backend, private ChannelUser, private ProcessWatcher {
 public:
  /// `values` is of `lineage`.
  MpiBackend(RankTask task, Channel& channel, Lineage& lineage, Values& values, ComputeThread& thread);
  ~MpiBackend() override;

  /// Before run(): the version's weights and the places in the samples; the clock counts from the beginning of the job.
  void continue_from(EarlierState earlier);
  /// Of that worker, in the weights of a version, one batch each.
  std::uint64_t samples_until(Rank worker, std::uint64_t version);

  /// To the stop, and until no message is in flight between any two ranks. Throws RankFailed on all ranks if something was thrown on one.
  void run();

  RankLog& log() { return log_; }
  bool publishes() const { return node_.self() == publisher_; }
  /// On the publishing rank: the course so far, without the other ranks' logs.
  RunCourse course();
  /// If workers publish their own weights: makes the means that will be evaluated, on the publishing rank. All ranks call it, after the
  /// run.
  void gather_own_versions();

 private:
  class TimeLimit;

  // Backend
  bool start(Operation& operation) override;
  void cancel(Operation& operation) noexcept override;
  void due(Operation& operation) override;
  void wake(Operation& operation) override { queue_.at(now(), operation); }
  void received(MailOperation& operation) override { operation.complete(); }
  void post(Rank, Peer to, Payload&& payload) override { transmit(to, payload, nullptr); }
  void discarded(Rank node, const Payload& contribution) override;
  void signal_workers(Rank from, SyncSignal signal) override;
  bool is_member(Rank) const override { return true; }
  Peer last_heard(Rank, Rank other) const override { return {other, Peer::any_life}; }
  Peer present(Rank worker) const override { return {worker, Peer::any_life}; }
  bool awaits(Rank) const override { return true; }
  Rank enrolled() const override { return task_.plan.workers; }
  bool is_enrolled(Rank) const override { return true; }
  bool members_change() const override { return false; }
  bool reduces() const override { return task_.reduces || (task_.plan.workers == 1 && !task_.has_server && !own_versions()); }
  void averaged(Rank teller, const Averaging& averaging) override;
  std::int32_t forced_choice(Rank) override { return -1; }
  void chosen(Rank, std::int32_t choice) override { log_.choices.push_back(choice); }
  // ChannelUser
  void arrived(Rank from, MessageKind kind, Bytes bytes) override;
  void left(Operation& operation) override { operation.complete(); }
  // ProcessWatcher
  void process_ended(std::uint32_t id, std::exception_ptr failure) noexcept override;

  void start_compute(ComputeOperation& operation);
  /// Gives nodes the values of finished gradients. True: at least one was finished.
  bool take_computed();
  void compute_due(ComputeOperation& operation);
  bool start_mail(MailOperation& operation);
  bool start_publish(PublishOperation& operation);
  bool stops_at(const Weights& weights) const;
  bool votes() const { return task_.votes && task_.plan.workers > 1; }
  bool interrupted() const { return task_.interrupted && *task_.interrupted; }
  /// Where no vote is taken: between two updates, as in the simulation.
  void stop_now(Time end);
  void keep_publication(const Weights& weights, const Contributions& made, Time when);
  // If workers publish their own weights:
  bool own_versions() const { return task_.plan.versions != Versions::shared; }
  bool runs_free() const { return task_.plan.versions == Versions::free_running; }
  void publish_own(const PublishOperation& operation, Time when);
  void take_publication(Rank from, const Bytes& bytes);
  void take_own_versions();
  void take_averaging(Rank from, const Bytes& bytes);
  /// A publication at that time comes after the end.
  bool is_late(Time when) const { return (task_.stop.simulated_time && when > *task_.stop.simulated_time) || (stopping_ && when > end_); }
  /// The version before the latest one will not be evaluated.
  void forget_own();
  void take_forget(const Bytes& bytes);
  void gather_lockstep();
  /// Where they run free, on the rank that publishes: the parts of a version are needed, or no longer needed.
  void need_parts(const std::vector<OwnVersions::Part>& parts);
  void forget_parts(const std::vector<OwnVersions::Part>& parts);
  void gather_free();
  /// The mean of all ranks' parts of these weights.
  Handle mean_of(const std::vector<Handle>& parts);
  // Collectives, each in the ring of its workers:
  struct Reducing {
    Operation* operation;
    Payload* payload;
  };
  /// Of all workers, or of a group's, in the order of ranks.
  struct Ring {
    Ring(MpiBackend& backend, RankGroup group, std::uint64_t number);
    bool of_all() const { return group == nullptr; }
    /// The first of the collectives is an all-gather, or an all-reduce of compressed messages, which are gathered; all others are reduced.
    bool gathering() const { return all_gathers() || (compressed_form(*reducing.front().payload) && !sums_compressed()); }
    /// The first of them sums the contents of compressed messages: whole gradients, and differences of weights.
    bool sums_compressed() const {
      const Payload& payload = *reducing.front().payload;
      return sums && !all_gathers() && compressed_form(payload) && fragment_of(payload).whole();
    }
    bool all_gathers() const { return reducing.front().operation->kind() == Operation::Kind::all_gather; }
    bool done() const { return gathering() ? gather.done() : mean.done(); }
    void arrived(const Bytes& bytes) { gathering() ? gather.arrived(bytes) : mean.arrived(bytes); }

    RankGroup group;       // null: all workers
    std::uint64_t number;  // names it in messages; 0: of all workers
    Rank size, place, right;
    bool sums;  // compressed messages are summed around the ring; otherwise they are gathered
    // Of a mean of factors, once the mean of the left ones is there:
    Handle left;
    Payload result;
    std::deque<Reducing> reducing;  // that this rank has joined; the first one is moving
    RingMean mean;
    RingGather gather;
  };
  Ring& ring_of(const RankGroup& group);
  /// Both for collectives and for averaged_gradient: `payload` is replaced by the mean.
  bool join_ring(Ring& ring, Operation& operation, Payload& payload);
  void begin_ring(Ring& ring);
  void send_right(const Ring& ring, RingMean::Outgoing out);
  /// False: the right factors are not yet averaged.
  bool take_result(Ring& ring);
  void begin_sum(Ring& ring, const Payload& payload);
  bool take_sum(Ring& ring);
  template <class T>
  bool take_sum(Ring& ring);
  Handle summed(const Ring& ring) const;
  const SumCodec& sum_codec(const Ring& ring) const;
  /// Every rank's payload, by name.
  template <class T>
  std::vector<T> named_parts(const Ring& ring) {
    std::vector<T> parts;
    for (const Bytes& said : ring.mean.beside()) {
      Unpacker unpacker(said);
      parts.push_back(std::get<T>(unpack_names(values_, unpacker)));
    }
    return parts;
  }
  void give_sum(const Ring& ring, const Handle& mean);
  void give_attached(const Ring& ring, const Payload& mean);
  void begin_mean(Ring& ring, const Payload& payload);
  void begin_gather(Ring& ring, const Payload& payload);
  std::vector<Payload> gathered(Ring& ring);
  template <class T>
  Payload gathered_mean(Ring& ring);
  std::span<const float> values_of_fragment(const Handle& vector, const Fragment& fragment);
  void ring_message(Bytes bytes);
  template <class T>
  Payload ring_mean(Ring& ring);

  /// What a ring's messages tell all its ranks: a vote for the stop, in the ring of all workers; a run that is broken off, so that the
  /// rank that writes the results knows.
  static constexpr std::uint8_t vote_flag = 1, broken_off_flag = 2;
  std::uint8_t flags_for(const Ring& ring) const {
    return static_cast<std::uint8_t>((ring.of_all() && voted_ ? vote_flag : 0) | (broken_off_ ? broken_off_flag : 0));
  }
  void take_flags(std::uint8_t flags) {
    voted_ = voted_ || (flags & vote_flag) != 0;
    broken_off_ = broken_off_ || (flags & broken_off_flag) != 0;
  }

  void transmit(Rank to, const Payload& payload, Operation* operation);
  /// By part.
  using Packed = std::vector<std::shared_ptr<const Bytes>>;
  Packed packed(const Payload& payload);
  void note_sent(Rank to, const Part& part, double spared) {
    note(part.kind == Part::Kind::statistics ? LogEntry::Kind::statistics_sent : LogEntry::Kind::sent, to, part.bytes, spared);
  }
  void take_part(Rank from, Bytes part, bool last);
  /// Weights that this rank has sent to a lower one are kept until a message arrives that builds on later weights.
  void keep_sent(Rank to, const Payload& payload);
  void forget_sent(Rank from, const Payload& payload);
  void send_to_all(MessageKind kind, Bytes bytes);
  void loop();
  void fire_due();
  void wait(std::chrono::nanoseconds pause);
  void drain();
  Time now() const override;
  /// From the beginning of the job to this start of it, `since_start` ns ago.
  std::int64_t earlier_ns(std::int64_t since_start) const;
  void note(LogEntry::Kind kind, Rank peer = 0, std::uint64_t bytes = 0, double spared = 0) {
    log_.entries.push_back({now().ticks(), bytes, peer, kind, spared});
  }

  RankTask task_;
  const WireBytes wire_bytes_;
  Channel& channel_;
  Lineage& lineage_;
  Values& values_;
  ComputeThread& thread_;
  RankLog log_;
  std::int64_t start_ns_ = 0;
  std::optional<std::int64_t> began_;  // the job that continues (EarlierState)
  Time start_;                         // of this run, in the time of the job

  EventQueue queue_;  // of real time
  struct {
    ComputeOperation* operation = nullptr;
    std::shared_ptr<ComputeThread::Job> job;  // null: computed, and waiting for its time
    Time start, end;
    Handle gradient;  // keeps its value until the scheme takes it
  } computing_;
  std::map<std::uint64_t, std::unique_ptr<Ring>> rings_;  // by number: the rings that this rank has joined
  std::map<std::uint64_t, std::deque<Bytes>> early_;      // by ring: messages for which this rank is not ready
  ReceivedSignals signals_;
  struct {
    Payload payload = MembershipNotice();
    Packed packed;
  } last_packed_;                            // a broadcast is packed once
  std::vector<std::vector<Bytes>> parts_;    // [ranks]: of a payload of which others are still to come
  std::map<Rank, std::deque<Handle>> sent_;  // weights, where messages are compressed

  EvaluationSchedule schedule_;
  std::deque<Publication> publications_;
  bool keep_last_ = false;  // its value, when the next one comes
  struct {
    std::map<std::uint64_t, Handle> values;  // of this rank's weights, by number; those that may be requested
    std::optional<OwnVersions> versions;     // on the rank that publishes
    std::deque<std::uint64_t> numbers;       // there: of publications_
    bool over = false;                       // there: the last version has arrived
  } own_;
  struct {
    std::map<Key, Handle> values;  // of this rank's weights; those that may be requested
    // On the rank that publishes:
    std::deque<std::vector<OwnVersions::Part>> parts;  // of publications_; empty: will not be evaluated
    struct Needed {
      Rank holder = 0;
      std::size_t versions = 0;  // that may be evaluated, of which it is a part
    };
    std::map<Key, Needed> needed;
  } free_;
  Time next_evaluation_, end_;
  bool voted_ = false;
  std::unique_ptr<TimeLimit> time_limit_;

  bool stopping_ = false, draining_ = false, broken_off_ = false;
  Rank goodbyes_ = 0;
  std::exception_ptr thrown_;
  std::string failure_;

  NodeContext context_;
  Node node_;
  Rank publisher_;
  SocketWait arrivals_;
  Mailbox<MessagePointer> mail_;
  Process process_;  // last: its frame dies first
};

}  // namespace straggler
