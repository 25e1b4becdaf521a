// The accounts of a run, which nobody else writes: bytes, the workers' time, and work that counts for nothing.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sim/record/run_recorder.hpp"
#include "sim/simulated/flight_watch.hpp"
#include "sim/simulated/world.hpp"

namespace straggler {

/// Servers have an account of time only where their energy is counted.
class Books {
 public:
  /// Both outlive this.
  Books(const World& world, RunRecorder& recorder) : world_(world), recorder_(recorder) {}

  void sent(Rank rank, std::uint64_t bytes) {
    recorder_.bytes().sent += bytes;
    if (world_.is_worker(rank)) recorder_.worker(rank).bytes_sent += bytes;
  }
  void received(Rank rank, std::uint64_t bytes) {
    recorder_.bytes().received += bytes;
    if (world_.is_worker(rank)) recorder_.worker(rank).bytes_received += bytes;
  }
  /// A collective begins: its members send these bytes, and theirs are in flight; servers send others.
  void collective_sent(std::span<const Rank> members, std::span<const std::uint64_t> bytes, std::uint64_t by_servers) {
    for (std::size_t member = 0; member < members.size(); ++member) {
      sent(members[member], bytes[member]);
      begin_flight(members[member]);
    }
    recorder_.bytes().sent += by_servers;
  }
  void received_by_servers(std::uint64_t bytes) { recorder_.bytes().received += bytes; }
  /// Bytes sent that compression has saved.
  void spared(double bytes) { recorder_.bytes().spared += bytes; }
  void lost(std::uint64_t bytes) { recorder_.bytes().lost += bytes; }
  /// Of the bytes sent: running statistics.
  void statistics(std::uint64_t bytes) { recorder_.bytes().statistics += bytes; }
  void begin_flight(Rank rank) {
    if (!world_.is_worker(rank)) return server_flight(rank, true);
    times().begin_flight(rank, world_.now());
    if (flights_) flights_->flight(rank, true);
  }
  void end_flight(Rank rank) {
    if (!world_.is_worker(rank)) return server_flight(rank, false);
    times().end_flight(rank, world_.now());
    if (flights_) flights_->flight(rank, false);
  }
  /// A server or aggregator is busy.
  void served(Rank rank, Time begin, Time end) {
    ServerTimes* const times = recorder_.server_times();
    if (times && !world_.is_worker(rank) && machine_of(rank) < times->machines()) times->busy(machine_of(rank), begin, end);
  }
  /// An all-reduce by servers begins or ends.
  void servers_reduce(bool begins) {
    if (ServerTimes* const times = recorder_.server_times()) times->flight(0, world_.now(), begins);
  }
  /// Outlives this.
  void watch_flights(FlightWatch& watch) { flights_ = &watch; }
  TimeAccounts& times() { return recorder_.times(); }
  /// Contributions that go into no version, and the bytes that brought them.
  void discarded(std::span<const Contribution> made, std::uint64_t bytes) { recorder_.discarded(made, bytes); }
  /// Samples that workers have drawn.
  void drawn(std::uint64_t samples) { recorder_.record().samples_drawn += samples; }
  /// A client went away while it took part in a round.
  void client_lost() { ++recorder_.record().clients.lost; }
  /// A unit failed; counted where units fail again and again.
  void count_failures() { recorder_.record().failures = 0; }
  void failed(FaultUnit unit) {
    RunRecord& record = recorder_.record();
    if (!record.failures) return;
    ++*record.failures;
    if (record.recovery.notes())
      record.recovery.events.push_back({world_.now(), RecoveryAct::failure, world_.cluster.faults.units->name(unit)});
  }
  /// A sentence for the user.
  void warn(std::string sentence) { recorder_.record().warnings.push_back(std::move(sentence)); }
  /// The mean share of time in which a client was present.
  void clients_present(double share) { recorder_.record().clients.present = share; }
  /// The version published last.
  const Weights& latest() const { return recorder_.latest(); }
  /// Notified of every event; null: not observed.
  RecordSink* trace() const { return recorder_.trace(); }

 private:
  /// Of ServerTimes: the servers together, then the aggregators.
  std::size_t machine_of(Rank rank) const {
    const SimulatedCluster::Aggregators& aggregators = world_.cluster.aggregators;
    return aggregators.count > 0 && rank >= aggregators.first ? 1 + index_of(rank - aggregators.first) : 0;
  }
  void server_flight(Rank rank, bool begins) {
    ServerTimes* const times = recorder_.server_times();
    if (times && machine_of(rank) < times->machines()) times->flight(machine_of(rank), world_.now(), begins);
  }

  const World& world_;
  RunRecorder& recorder_;
  FlightWatch* flights_ = nullptr;  // null: nobody hears of them
};

}  // namespace straggler
