#include "scenarios/results/tables.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "scenarios/results/text.hpp"
#include "sim/base/csv.hpp"

namespace straggler {

namespace {

std::string cell(const std::optional<double>& value) { return value ? number_text(*value) : std::string(); }
std::string cell(const std::optional<Time>& value) { return value ? seconds_text(*value) : std::string(); }

/// "compute_s,wasted_s,...", a column for each phase; `recovers`: those of recovery too.
std::string phase_columns(bool recovers) {
  std::string columns;
  for (const PhaseRow& row : phase_rows)
    if (recovers || !row.of_recovery) columns += (columns.empty() ? "" : ",") + seconds_column(row.phase);
  return columns;
}

/// Columns of a run that costs: those of what is known.
std::string cost_columns(const RunRecord& record) {
  return std::string(record.costs.price ? ",price" : "") + (record.costs.joules ? ",energy_joules" : "");
}
/// Their cells; null: empty ones.
std::string cost_cells(const RunRecord& record, const Costs* costs) {
  std::string cells;
  for (const std::optional<double> Costs::*const cost : {&Costs::price, &Costs::joules})
    if (record.costs.*cost) cells += "," + (costs ? cell(costs->*cost) : std::string());
  return cells;
}

std::string epoch_cell(const CurvePoint& point) { return std::isnan(point.epoch) ? std::string() : number_text(point.epoch); }

}  // namespace

void write_curve(const RunRecord& record, OutFile& file) {
  file.write("time_s,update,round,epoch,samples,bytes_sent,train_loss,train_accuracy,test_loss,test_accuracy");
  file.write(record.symbols ? ",train_perplexity,test_perplexity" : "");
  file.write(record.recovery.there ? ",lost" : "");
  file.write(cost_columns(record) + "\n");
  for (const CurvePoint& point : record.curve) {
    file.print("{},{},{},{},{},{},{},{},{},{}", seconds_text(point.time), point.update, point.round, epoch_cell(point), point.samples,
               point.bytes_sent, cell(point.train_loss), cell(point.train_accuracy), cell(point.test_loss), cell(point.test_accuracy));
    if (record.symbols) file.print(",{},{}", cell(perplexity(point.train_loss)), cell(perplexity(point.test_loss)));
    if (record.recovery.there) file.write(point.lost ? ",1" : ",0");
    file.write(cost_cells(record, &point.costs) + "\n");
  }
}

void write_recovery(const RunRecord& record, OutFile& file) {
  file.write("time_s,event,unit,update\n");
  for (const RecoveryEvent& event : record.recovery.events) {
    const bool failure = event.act == RecoveryAct::failure;
    file.print("{},{},{},{}\n", seconds_text(event.at), RecoveryEvent::names[static_cast<std::size_t>(event.act)], event.unit,
               failure ? std::string() : fmt::format("{}", event.update));
  }
}

void write_thresholds(const RunRecord& record, OutFile& file) {
  file.write("threshold,time_s,last_below_s,updates,epochs,samples,bytes" + cost_columns(record) + "\n");
  for (const double threshold : record.thresholds) {
    const Reached first = reached(record.curve, threshold, record.sustain);
    if (!first.at) {
      file.print("{},,,,,,{}\n", number_text(threshold), cost_cells(record, nullptr));
      continue;
    }
    file.print("{},{},{},{},{},{},{}{}\n", number_text(threshold), seconds_text(first.at->time), cell(first.last_below), first.at->update,
               epoch_cell(*first.at), first.at->samples, first.at->bytes_sent, cost_cells(record, &first.at->costs));
  }
}

void write_staleness(const RunRecord& record, OutFile& file) {
  file.write("staleness,count\n");
  for (const auto& [staleness, count] : record.staleness) file.print("{},{}\n", staleness, count);
}

std::string epochs_header(bool recovers) { return "epoch,start_s,end_s," + phase_columns(recovers) + ",bytes_sent\n"; }

void write_epoch(const EpochRecord& epoch, bool recovers, OutFile& file) {
  file.print("{},{},{}", epoch.epoch, seconds_text(epoch.start), seconds_text(epoch.end));
  for (const PhaseRow& row : phase_rows)
    if (recovers || !row.of_recovery) file.print(",{}", number_text(epoch.mean_seconds[row.phase]));
  file.print(",{}\n", epoch.bytes_sent);
}

void write_epochs(const RunRecord& record, OutFile& file) {
  file.write(epochs_header(record.recovery.there));
  for (const EpochRecord& epoch : record.epochs_record) write_epoch(epoch, record.recovery.there, file);
}

void write_workers(const RunRecord& record, OutFile& file) {
  file.write("worker,group,device,samples,updates," + phase_columns(record.recovery.there) +
             ",total_s,bytes_sent,bytes_received,staleness_mean,staleness_max,samples_per_second,exposed_communication_s\n");
  const double seconds = record.end.seconds(), updates = static_cast<double>(record.updates);
  std::vector<std::string> devices;
  for (const std::string& device : record.group_devices) devices.push_back(csv_text(device));
  for (std::size_t i = 0; i < record.workers.size(); ++i) {
    const WorkerRecord& worker = record.workers[i];
    const std::uint32_t group = i < record.worker_groups.size() ? record.worker_groups[i] : 0;
    char* at = write_count(file.row(), i);
    const auto count = [&at](std::uint64_t value) {
      *at++ = ',';
      at = write_count(at, value);
    };
    const auto time = [&at](Time value) {
      *at++ = ',';
      at = write_seconds(at, value);
    };
    count(group);
    *at++ = ',';
    file.advance(at);
    if (group < devices.size()) file.write(devices[group]);
    at = file.row();
    count(worker.samples);
    count(worker.updates);
    for (const PhaseRow& row : phase_rows)
      if (record.recovery.there || !row.of_recovery) time(worker.split[row.phase]);
    time(worker.split.total());
    count(worker.bytes_sent);
    count(worker.bytes_received);
    *at++ = ',';
    if (worker.updates > 0) {
      at = write_number(at, static_cast<double>(worker.staleness_sum) / static_cast<double>(worker.updates));
      count(worker.staleness_max);
    } else {
      *at++ = ',';
    }
    *at++ = ',';
    if (seconds > 0) at = write_number(at, static_cast<double>(worker.samples) / seconds);
    *at++ = ',';
    if (updates > 0) at = write_number(at, worker.split[Phase::communication].seconds() / updates);
    *at++ = '\n';
    file.advance(at);
  }
}

void write_links(const RunRecord& record, OutFile& file) {
  file.write("link,from,to,bandwidth_bytes_per_s,bytes,busy_s,utilization");
  if (record.links.queues) file.write(",longest_queue_bytes,mean_queue_bytes");
  file.write(record.links.losses ? ",lost_packets,timeouts\n" : "\n");
  const double seconds = record.end.seconds();
  for (std::size_t i = 0; i < record.links.size; ++i) {
    const LinkRecord link = record.links.row(i);
    const double capacity = link.bytes_per_second * seconds;
    for (const std::string* name : {&link.name, &link.from, &link.to}) {
      file.write(plain_csv(*name) ? *name : csv_text(*name));
      file.write(",");
    }
    char* at = write_number(file.row(), link.bytes_per_second);
    *at++ = ',';
    at = write_number(at, link.bytes);
    *at++ = ',';
    at = write_seconds(at, link.busy);
    *at++ = ',';
    at = write_number(at, capacity > 0 ? link.bytes / capacity : 0);
    if (record.links.queues) {
      *at++ = ',';
      at = write_number(at, link.longest_queue_bytes);
      *at++ = ',';
      at = write_number(at, link.mean_queue_bytes);
    }
    if (record.links.losses) {
      *at++ = ',';
      at = write_count(at, link.lost_packets);
      *at++ = ',';
      at = write_count(at, link.timeouts);
    }
    *at++ = '\n';
    file.advance(at);
  }
}

}  // namespace straggler
