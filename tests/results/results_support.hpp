// A record built by hand, whose figures the tests of the result files derive, and a folder that goes away.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "scenarios/results/out_file.hpp"
#include "sim/record/record.hpp"
#include "tests/support/folder.hpp"

namespace straggler::results_test {

class ScratchFolder : public test::TemporaryFolder {
 public:
  bool empty() const { return std::filesystem::is_empty(path()); }
};

inline void put(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string get(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline std::string table(const RunRecord& record, void (*write)(const RunRecord&, OutFile&)) {
  const ScratchFolder scratch;
  OutFile file(scratch / "table.csv");
  write(record, file);
  file.close();
  return get(scratch / "table.csv");
}

inline Time seconds(double value) { return Time::from_seconds(value); }

inline CurvePoint curve_point(double time, std::uint64_t update, double test_accuracy) {
  CurvePoint point;
  point.time = seconds(time);
  point.update = point.round = update;
  point.samples = 32 * update;
  point.bytes_sent = 200 * update;
  point.epoch = 0.25 * static_cast<double>(update);
  point.train_loss = 1 - test_accuracy;
  point.train_accuracy = test_accuracy;
  point.test_loss = 2 - test_accuracy;
  point.test_accuracy = test_accuracy;
  return point;
}

/// Two workers of asynchronous SGD, 8 s, 6 updates of 32 samples.
inline RunRecord sample_record() {
  RunRecord record;
  record.name = "demo";
  record.scheme = "asgd";
  record.seed = 7;
  record.end = seconds(8);
  record.updates = record.rounds = 6;
  record.samples = 192;
  record.epochs = 1.5;
  record.bytes_sent = 1200;
  record.bytes_up = 700;
  record.bytes_down = 500;
  record.events = 99;
  record.staleness = {{0, 1}, {1, 3}, {5, 2}};
  record.curve = {curve_point(2, 1, 0.5), curve_point(4, 2, 0.8), curve_point(6, 4, 0.7), curve_point(7, 5, 0.85), curve_point(8, 6, 0.9)};
  record.workers.resize(2);
  WorkerRecord &first = record.workers[0], &second = record.workers[1];
  first.split[Phase::compute] = seconds(4);
  first.split[Phase::wasted] = seconds(1);
  first.split[Phase::communication] = seconds(2);
  first.split[Phase::idle] = seconds(1);
  first.bytes_in_flight = seconds(3);
  first.overlapped = seconds(1);
  first.samples = 128;
  first.updates = 4;
  first.bytes_sent = 800;
  first.bytes_received = 400;
  first.staleness_sum = 3;
  first.staleness_max = 1;
  second.split[Phase::compute] = seconds(2);
  second.split[Phase::communication] = seconds(2);
  second.split[Phase::idle] = seconds(4);
  second.bytes_in_flight = seconds(2);
  second.samples = 64;
  second.updates = 2;
  second.bytes_sent = 400;
  second.bytes_received = 800;
  second.staleness_sum = 10;
  second.staleness_max = 5;
  record.group_devices = {"fast", "slow"};
  record.worker_groups = {0, 1};
  record.thresholds = {0.5, 0.75, 0.95};
  record.target_accuracy = 0.8;
  return record;
}

}  // namespace straggler::results_test
