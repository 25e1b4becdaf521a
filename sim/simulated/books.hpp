// The accounts of messages and reductions: bytes, and the time for which a worker's bytes are in flight. Servers have no such time.
#pragma once
#include <cstdint>

#include "sim/record/run_recorder.hpp"
#include "sim/simulated/world.hpp"

namespace straggler {

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
  /// Bytes sent that compression has saved.
  void spared(double bytes) { recorder_.bytes().spared += bytes; }
  void lost(std::uint64_t bytes) { recorder_.bytes().lost += bytes; }
  /// Of the bytes sent: running statistics.
  void statistics(std::uint64_t bytes) { recorder_.bytes().statistics += bytes; }
  void begin_flight(Rank rank) {
    if (world_.is_worker(rank)) times().begin_flight(rank, world_.now());
  }
  void end_flight(Rank rank) {
    if (world_.is_worker(rank)) times().end_flight(rank, world_.now());
  }
  TimeAccounts& times() { return recorder_.times(); }
  RunRecorder& recorder() { return recorder_; }
  /// Notified of every event; null: not observed.
  RecordSink* trace() const { return recorder_.trace(); }

 private:
  const World& world_;
  RunRecorder& recorder_;
};

}  // namespace straggler
