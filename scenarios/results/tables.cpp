#include "scenarios/results/tables.hpp"

#include "scenarios/results/text.hpp"

namespace straggler {

namespace {

std::string cell(const std::optional<double>& value) { return value ? number_text(*value) : std::string(); }
std::string cell(const std::optional<Time>& value) { return value ? seconds_text(*value) : std::string(); }

/// The order in which tables list the phases.
constexpr Phase columns[] = {Phase::compute, Phase::wasted, Phase::loading, Phase::communication, Phase::idle, Phase::down};

}  // namespace

void write_curve(const RunRecord& record, OutFile& file) {
  file.write("time_s,update,round,epoch,samples,bytes_sent,train_loss,train_accuracy,test_loss,test_accuracy\n");
  for (const CurvePoint& point : record.curve)
    file.print("{},{},{},{},{},{},{},{},{},{}\n", seconds_text(point.time), point.update, point.round, number_text(point.epoch),
               point.samples, point.bytes_sent, cell(point.train_loss), cell(point.train_accuracy), cell(point.test_loss),
               cell(point.test_accuracy));
}

void write_thresholds(const RunRecord& record, OutFile& file) {
  file.write("threshold,time_s,last_below_s,updates,epochs,samples,bytes\n");
  for (const double threshold : record.thresholds) {
    const Reached first = reached(record.curve, threshold, record.sustain);
    if (!first.at) {
      file.print("{},,,,,,\n", number_text(threshold));
      continue;
    }
    file.print("{},{},{},{},{},{},{}\n", number_text(threshold), seconds_text(first.at->time), cell(first.last_below), first.at->update,
               number_text(first.at->epoch), first.at->samples, first.at->bytes_sent);
  }
}

void write_staleness(const RunRecord& record, OutFile& file) {
  file.write("staleness,count\n");
  for (const auto& [staleness, count] : record.staleness) file.print("{},{}\n", staleness, count);
}

void write_epochs(const RunRecord& record, OutFile& file) {
  file.write("epoch,start_s,end_s,compute_s,wasted_s,loading_s,communication_s,idle_s,down_s,bytes_sent\n");
  for (const EpochRecord& epoch : record.epochs_record) {
    file.print("{},{},{}", epoch.epoch, seconds_text(epoch.start), seconds_text(epoch.end));
    for (const Phase phase : columns) file.print(",{}", number_text(epoch.mean_seconds[static_cast<std::size_t>(phase)]));
    file.print(",{}\n", epoch.bytes_sent);
  }
}

void write_workers(const RunRecord& record, OutFile& file) {
  file.write(
      "worker,group,device,samples,updates,compute_s,wasted_s,loading_s,communication_s,idle_s,down_s,total_s,bytes_sent,bytes_received,"
      "staleness_mean,staleness_max\n");
  for (std::size_t i = 0; i < record.workers.size(); ++i) {
    const WorkerRecord& worker = record.workers[i];
    const std::string device = i < record.worker_devices.size() ? csv_text(record.worker_devices[i]) : std::string();
    file.print("{},{},{},{},{}", i, i < record.worker_groups.size() ? record.worker_groups[i] : 0, device, worker.samples, worker.updates);
    char* at = file.row();
    const auto put = [&at](Time time) {
      *at++ = ',';
      at = write_seconds(at, time);
    };
    for (const Phase phase : columns) put(worker.split[phase]);
    put(worker.split.total());
    file.advance(at);
    const StalenessStatistics& staleness = worker.staleness;
    file.print(",{},{}", worker.bytes_sent, worker.bytes_received);
    if (staleness.count > 0)
      file.print(",{},{}\n", number_text(static_cast<double>(staleness.sum) / static_cast<double>(staleness.count)), staleness.max);
    else
      file.write(",,\n");
  }
}

void write_links(const RunRecord& record, OutFile& file) {
  file.write("link,from,to,bandwidth_bytes_per_s,bytes,busy_s,utilization\n");
  const double seconds = record.end.seconds();
  for (const LinkRecord& link : record.links) {
    const double capacity = link.bytes_per_second * seconds;
    file.print("{},{},{},{},{},{},{}\n", csv_text(link.name), csv_text(link.from), csv_text(link.to), number_text(link.bytes_per_second),
               number_text(link.bytes), seconds_text(link.busy), number_text(capacity > 0 ? link.bytes / capacity : 0));
  }
}

}  // namespace straggler
