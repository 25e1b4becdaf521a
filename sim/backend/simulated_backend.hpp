// The simulated back end: the Node surface in simulated time, on a cluster of the description given.
#pragma once
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/backend/run_recorder.hpp"
#include "sim/backend/signal_board.hpp"
#include "sim/backend/simulated_cluster.hpp"
#include "sim/base/fixed_array.hpp"
#include "sim/cluster/core_pool.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"
#include "sim/schemes/node.hpp"

namespace straggler {

/// A message that has been dispatched and not delivered.
struct InFlightMessage : Message, boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  using Message::Message;
};

class SimulatedBackend final : public Backend, private WaitingPlace {
 public:
  SimulatedBackend(SimulatedCluster cluster, const TrainingPlan& plan, const Scheme& scheme, Lineage& lineage, RunRecorder& recorder,
                   Evaluator* evaluator);
  ~SimulatedBackend() override;

  /// Choices to force, one sequence a rank, in its program order; free once they are used up.
  void replay(std::vector<std::vector<std::int32_t>> choices) { forced_ = std::move(choices); }
  /// Runs to the stop, `until` at the latest, and closes the record. Throws Deadlock (unless a fault led to it: that is an outcome) and
  /// what the scheme throws.
  void run(std::optional<Time> until, std::optional<Time> evaluate_every);
  void interrupt() { end(Outcome::interrupted); }

  Simulation& simulation() { return simulation_; }
  const Network& network() const { return network_; }
  /// Live nodes of lineage without a value above which the math plane is asked to catch up.
  static constexpr std::size_t lineage_window = 2048;

 private:
  class Delivery;
  class AllReduce;
  class AllReduceTogether;
  class AllReduceSkewed;
  class Membership;
  class Background;
  class EvaluationClock;
  class SerialPart;
  using InFlight = boost::intrusive::list<InFlightMessage, boost::intrusive::constant_time_size<false>>;

  // Backend
  bool start(Operation& operation) override;
  void cancel(Operation& operation) noexcept override;
  void due(Operation& operation) override;
  void wake(Operation& operation) override { simulation_.queue().after(Time(), operation); }
  void received(MailOperation& operation) override;
  MessagePointer make_message(Rank from, Peer to, Payload payload) override;
  void post(MessagePointer message) override { dispatch(std::move(message), nullptr); }
  void signal_workers(Rank from, SyncSignal signal) override { signals_.broadcast(from, signal.number); }
  bool is_member(Rank worker) const override;
  Peer last_heard(Rank node, Rank other) const override;
  bool awaits(Rank worker) const override;
  Rank members() const override;
  bool reduces() const override { return reducing_ != nullptr; }
  bool members_change() const override { return membership_ != nullptr; }
  std::int32_t forced_choice(Rank rank) override;
  void chosen(Rank rank, std::int32_t choice) override;
  // WaitingPlace
  void describe_waiting(std::vector<std::string>& who) const override;

  // Operations
  void averaged_gradient_due(AveragedGradientOperation& operation);
  bool start_host_work(HostOperation& operation);
  bool start_step(StepOperation& operation);
  bool start_mail(MailOperation& operation);
  /// A message was given to a node's process, which will see it now or when its processor has handled it.
  void taken(const MailOperation& operation);
  bool start_publish(PublishOperation& operation);
  /// Processor time of one message, beside that for its bytes: per_message of every rank, and a server's own.
  Time handling(Rank rank) const { return is_worker(rank) ? cluster_.per_message : cluster_.per_message + cluster_.server_per_message; }
  /// A message takes the rank's processor, or waits for it: a server is busy with the serial part of an epoch.
  bool occupies(Rank rank) const {
    return handling(rank) > Time() || cluster_.handling_seconds_per_byte > 0 ||
           (serial_part_ && !is_worker(rank) && processor_free_.front() > now());
  }
  /// The receive completes when its node's processor has handled the message.
  void handle(MailOperation& operation);
  /// The moment at which the rank's processor has handled a message of so many bytes too.
  Time handled(Rank rank, std::uint64_t bytes);
  Time& processor_free(Rank rank) { return processor_free_[is_worker(rank) ? static_cast<std::size_t>(rank) + 1 : 0]; }

  // Messages
  void dispatch(MessagePointer message, SendOperation* operation);
  void transmit(Delivery& delivery);
  void transmit_statistics(Delivery& delivery);
  void start_flows(Delivery& delivery, std::uint64_t bytes);
  void start_shards(Delivery& delivery, std::uint64_t bytes);
  void drained(Delivery& delivery);
  void delivered(Delivery& delivery);
  void lose(Delivery& delivery);
  std::uint64_t main_bytes_of(const Payload& payload) const;
  /// Running statistics are a message of their own, right behind what they belong to and on the same route.
  std::uint64_t statistics_of(const Payload& payload) const;
  /// What of it has begun to leave.
  std::uint64_t sent_bytes(const Delivery& delivery) const;
  void count_sent(Rank rank, std::uint64_t bytes);
  void count_received(Rank rank, std::uint64_t bytes);
  void begin_flight(Rank rank) {
    if (is_worker(rank)) recorder_.times().begin_flight(static_cast<std::uint32_t>(rank), now());
  }
  void end_flight(Rank rank) {
    if (is_worker(rank)) recorder_.times().end_flight(static_cast<std::uint32_t>(rank), now());
  }

  // Among many workers everything that belongs to one is out of the cache when its turn comes: it is fetched some events ahead.
  void prefetch_worker(Rank rank) const noexcept;
  void prefetch_waiter(Rank rank) const noexcept;
  void prefetch_messages(const Mailbox<MessagePointer>& mail) const noexcept;

  void spawn_worker(Rank worker);
  void kill_worker(Rank worker);
  /// It is about to start again: nothing that it sent before is looked at any more.
  void forget_former_life(Rank worker);
  /// What has arrived from it and nobody has taken.
  void forget_mail_from(Rank worker);
  /// A replay has not made all choices of the run that it follows.
  bool forced_choices_are_left() const;
  /// The run ends here, for a reason of its own.
  void end(Outcome failure);
  void close_record(Time when);
  void take_down();
  bool is_worker(Rank rank) const { return rank < plan_.workers; }
  Time now() const { return simulation_.now(); }

  SimulatedCluster cluster_;
  const TrainingPlan& plan_;
  const Scheme& scheme_;
  Lineage& lineage_;
  RunRecorder& recorder_;
  Evaluator* evaluator_;
  std::optional<Outcome> failure_;
  bool stops_with_reduction_ = false;
  std::vector<std::vector<std::int32_t>> forced_;
  std::vector<std::size_t> forced_used_, forced_made_;  // of those: looked up, and made since
  std::vector<Time> processor_free_;       // [server, workers]: until when its processor handles messages; workers only if that takes time
  Carriage carriage_;                      // scratch
  Time host_free_;                         // when the process that drives all workers was done with what they last waited for
  bool workers_write_each_other_ = false;  // and may lie in each other's mail

  Simulation simulation_;
  Network network_;
  Transport transport_;
  Computations computations_;
  InFlight in_flight_;
  SignalBoard signals_;
  std::unique_ptr<CorePool> message_cores_;  // that handle the messages of all ranks; null: each rank has its own
  std::unique_ptr<AllReduce> reducing_;
  NodeContext context_;
  FixedArray<Node> nodes_;  // [workers], and the server
  std::vector<Mailbox<MessagePointer>> mail_;
  std::vector<Simulation::ProcessId> processes_;  // [workers]; kept only where workers may go down
  std::unique_ptr<Membership> membership_;        // null: all workers are in, always
  std::unique_ptr<Background> background_;
  std::unique_ptr<EvaluationClock> evaluation_clock_;
  std::unique_ptr<SerialPart> serial_part_;
};

}  // namespace straggler
