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

/// Servers have no account of time.
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
    if (!world_.is_worker(rank)) return;
    times().begin_flight(rank, world_.now());
    if (flights_) flights_->flight(rank, true);
  }
  void end_flight(Rank rank) {
    if (!world_.is_worker(rank)) return;
    times().end_flight(rank, world_.now());
    if (flights_) flights_->flight(rank, false);
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
  void failed() {
    if (std::optional<std::uint64_t>& failures = recorder_.record().failures) ++*failures;
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
  const World& world_;
  RunRecorder& recorder_;
  FlightWatch* flights_ = nullptr;  // null: nobody hears of them
};

}  // namespace straggler
