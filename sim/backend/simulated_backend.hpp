// The simulated back end: the Node surface in simulated time, on a cluster of the description given.
#pragma once
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/backend/run_recorder.hpp"
#include "sim/backend/signal_board.hpp"
#include "sim/cluster/compute.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"
#include "sim/schemes/node.hpp"

namespace straggler {

/// The cluster as the back end needs it. Referred-to objects outlive the back end.
struct SimulatedCluster {
  const Topology* topology = nullptr;           // end points are ranks: workers, then servers
  std::vector<WorkerCompute> compute;           // [workers]
  std::vector<double> update_seconds_per_byte;  // [workers + servers]; 0: free
  std::size_t servers = 0;
  Time per_message;                             // a server's time for each message that it takes or sends
  const CollectiveEntry* all_reduce = nullptr;  // null: not used
  bool stepwise = false;
  double reduce_seconds_per_byte = 0;
  std::uint64_t model_bytes = 0;  // on the wire: one gradient or one model
};

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
  /// Runs to the stop. Throws Deadlock and what the scheme throws. `until`: at the latest; returns whether it came to that.
  void run(std::optional<Time> until, std::optional<Time> evaluate_every);
  void interrupt() {
    interrupted_ = true;
    simulation_.stop();
  }

  Simulation& simulation() { return simulation_; }
  const Network& network() const { return network_; }
  bool was_interrupted() const { return interrupted_; }
  /// Live nodes of lineage without a value above which the math plane is asked to catch up.
  static constexpr std::size_t lineage_window = 2048;

 private:
  class Delivery;
  class AllReduce;
  class EvaluationClock;
  using InFlight = boost::intrusive::list<InFlightMessage, boost::intrusive::constant_time_size<false>>;

  bool start(Operation& operation) override;
  void cancel(Operation& operation) noexcept override;
  void due(Operation& operation) override;
  void wake(Operation& operation) override { simulation_.queue().after(Time(), operation); }
  void received(MailOperation& operation) override;
  MessagePointer make_message(Rank from, Rank to, Payload payload) override;
  void post(MessagePointer message) override { dispatch(std::move(message), nullptr); }
  void signal_workers(Rank from, SyncSignal signal) override { signals_.broadcast(from, signal.number); }
  std::int32_t forced_choice(Rank rank) override;
  void chosen(Rank rank, std::int32_t choice) override;
  void describe_waiting(std::vector<std::string>& who) const override;

  bool start_gradient(GradientOperation& operation);
  bool start_step(StepOperation& operation);
  bool start_mail(MailOperation& operation);
  bool start_publish(PublishOperation& operation);
  void dispatch(MessagePointer message, SendOperation* operation);
  void transmit(Delivery& delivery);
  void drained(Delivery& delivery);
  void delivered(Delivery& delivery);
  std::uint64_t bytes_of(const Payload& payload) const;
  void count_sent(Rank rank, std::uint64_t bytes);
  void count_received(Rank rank, std::uint64_t bytes);
  void begin_flight(Rank rank);
  void end_flight(Rank rank);
  bool is_worker(Rank rank) const { return rank < plan_.workers; }
  Time now() const { return simulation_.now(); }
  /// The server's next free moment after handling one message.
  Time handled(Rank rank);

  SimulatedCluster cluster_;
  const TrainingPlan& plan_;
  const Scheme& scheme_;
  Lineage& lineage_;
  RunRecorder& recorder_;
  Evaluator* evaluator_;
  bool publishes_at_server_;
  bool interrupted_ = false;
  std::vector<std::vector<std::int32_t>> forced_;
  std::vector<std::size_t> forced_used_;
  SampleStream shared_stream_;
  std::vector<Time> server_free_;  // [servers]: until when its processor handles messages
  Route route_;                    // scratch

  Simulation simulation_;
  Network network_;
  InFlight in_flight_;
  SignalBoard signals_;
  std::unique_ptr<AllReduce> reducing_;
  std::deque<Node> nodes_;
  std::vector<Mailbox<MessagePointer>> mail_;
  std::unique_ptr<EvaluationClock> evaluation_clock_;
  std::vector<Simulation::ProcessId> processes_;
};

}  // namespace straggler
