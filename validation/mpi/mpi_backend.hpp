// The real back end: one process of the scheme on this rank, driven by a loop over MPI, timers and a compute thread. Real time, real
// messages, and values that are evaluated at once.
#pragma once
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/mailbox.hpp"
#include "sim/training/received_signals.hpp"
#include "validation/mpi/patience.hpp"
#include "validation/mpi/rank_computations.hpp"
#include "validation/mpi/rank_publications.hpp"
#include "validation/mpi/rings.hpp"

namespace straggler {

/// This rank or another has thrown: what() has the rank and its error.
struct RankFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
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
  /// To the stop, and until no message is in flight between any two ranks. Throws RankFailed on all ranks if something was thrown on one.
  void run();

  RankLog& log() { return world_.log; }
  /// On the publishing rank: the course so far, without the other ranks' logs.
  RunCourse course();
  /// If workers publish their own weights: makes the means that will be evaluated, on the publishing rank. All ranks call it, after the
  /// run.
  void gather_own_versions() { publications_.gather_own(); }

 private:
  // Backend
  bool start(Operation& operation) override;
  void cancel(Operation& operation) noexcept override;
  void due(Operation& operation) override;
  void wake(Operation& operation) override { queue_.at(now(), operation); }
  void received(MailOperation& operation) override { operation.complete(); }
  void post(Rank, Peer to, Payload&& payload) override { post_.send(to, payload, nullptr); }
  void discarded(Rank, const Payload& contribution) override { post_.drop(contribution); }
  void signal_workers(Rank from, SyncSignal signal) override;
  bool is_member(Rank) const override { return true; }
  Peer last_heard(Rank, Rank other) const override { return {other, Peer::any_life}; }
  Peer present(Rank worker) const override { return {worker, Peer::any_life}; }
  bool awaits(Rank) const override { return true; }
  Rank enrolled() const override { return world_.task.plan.workers; }
  bool is_enrolled(Rank) const override { return true; }
  bool members_change() const override { return false; }
  bool reduces() const override;
  void averaged(Rank teller, const Averaging& averaging) override { publications_.averaged(teller, averaging); }
  std::int32_t forced_choice(Rank) override { return -1; }
  void chosen(Rank, std::int32_t choice) override { world_.log.choices.push_back(choice); }
  Time now() const override { return world_.now(); }
  // ChannelUser
  void arrived(Rank from, MessageKind kind, Bytes bytes) override;
  LentFloats place_for(std::size_t bytes) override;
  void arrived(Rank from, LentFloats vector) override {
    if (!stop_.stopping() && !thrown_) post_.arrived(from, std::move(vector));
  }
  void left(Operation& operation) override { operation.complete(); }
  // ProcessWatcher
  void process_ended(std::uint32_t id, std::exception_ptr failure) noexcept override;

  void averaged_gradient_due(AveragedGradientOperation& operation);
  bool start_mail(MailOperation& operation);
  /// In the weights of a version, one batch of the worker for each version before.
  std::uint64_t samples_until(Rank worker, std::uint64_t version);
  void loop();
  void fire_due();
  /// Until messages are looked for again.
  std::chrono::nanoseconds pause() const;
  /// Computes, and no message that may come is waited for.
  bool only_computes() const;
  void wait();
  void drain();

  RankWorld world_;
  EventQueue queue_;  // of real time
  NodeContext context_;
  Node node_;
  RankPost post_;
  RankStop stop_;
  RankComputations computations_;
  Rings rings_;
  RankPublications publications_;
  ReceivedSignals signals_;
  Mailbox<MessagePointer> mail_;
  Patience patience_;
  Rank goodbyes_ = 0;
  std::exception_ptr thrown_;
  Process process_;  // last: its frame dies first
};

}  // namespace straggler
