#include <doctest/doctest.h>

#include <limits>

#include "scenarios/results/tables.hpp"
#include "scenarios/results/text.hpp"
#include "tests/results/results_support.hpp"

using namespace straggler;
using namespace straggler::results_test;

TEST_CASE("curve.csv") {
  RunRecord record = sample_record();
  record.curve.resize(1);
  record.curve[0].time = Time::from_ticks(2'000'000'000'001);
  CurvePoint bare;  // timing alone
  bare.time = seconds(3);
  bare.update = 2;
  bare.train_loss = std::numeric_limits<double>::infinity();
  record.curve.push_back(bare);
  CHECK(table(record, write_curve) ==
        "time_s,update,round,epoch,samples,bytes_sent,train_loss,train_accuracy,test_loss,test_accuracy\n"
        "2.000000000001,1,1,0.25,32,200,0.5,0.5,1.5,0.5\n"
        "3,2,0,0,0,0,inf,,,\n");
}

TEST_CASE("thresholds.csv has a row for each, empty where not reached") {
  // 0.5 holds from the first evaluation on; 0.75 from 7 s on, having been missed at 6 s.
  CHECK(table(sample_record(), write_thresholds) ==
        "threshold,time_s,last_below_s,updates,epochs,samples,bytes\n"
        "0.5,2,,1,0.25,32,200\n"
        "0.75,7,6,5,1.25,160,1000\n"
        "0.95,,,,,,\n");
}

TEST_CASE("recovery.csv: failures by unit, checkpoints and rollbacks by version") {
  RunRecord record = sample_record();
  record.recovery.events = {{seconds(1), RecoveryAct::checkpoint, {}, 3},
                            {seconds(1.5), RecoveryAct::failure, "host/1"},
                            {seconds(1.5), RecoveryAct::rollback, {}, 3}};
  CHECK(table(record, write_recovery) == "time_s,event,unit,update\n1,checkpoint,,3\n1.5,failure,host/1,\n1.5,rollback,,3\n");
}

TEST_CASE("staleness.csv") { CHECK(table(sample_record(), write_staleness) == "staleness,count\n0,1\n1,3\n5,2\n"); }

TEST_CASE("epochs.csv") {
  RunRecord record = sample_record();
  EpochRecord epoch;
  epoch.epoch = 1;
  epoch.start = seconds(0.5);
  epoch.end = seconds(4);
  epoch.bytes_sent = 640;
  for (const Phase phase : {Phase::compute, Phase::wasted, Phase::loading, Phase::communication, Phase::idle, Phase::down})
    epoch.mean_seconds[static_cast<std::size_t>(phase)] = 0.25 * (1 + static_cast<double>(phase));
  record.epochs_record = {epoch};
  CHECK(table(record, write_epochs) ==
        "epoch,start_s,end_s,compute_s,wasted_s,loading_s,communication_s,idle_s,down_s,bytes_sent\n"
        "1,0.5,4,0.25,0.5,0.75,1,1.25,1.5,640\n");
}

TEST_CASE("workers.csv") {
  RunRecord record = sample_record();
  record.workers.emplace_back();  // one that did nothing
  record.group_devices.push_back("odd, name");
  record.worker_groups.push_back(2);
  CHECK(table(record, write_workers) ==
        "worker,group,device,samples,updates,compute_s,wasted_s,loading_s,communication_s,idle_s,down_s,total_s,bytes_sent,bytes_received,"
        "staleness_mean,staleness_max,samples_per_second,exposed_communication_s\n"
        // Of 8 s and 6 updates: 128 / 8, and 2 / 6 each, with as many digits as a double has.
        "0,0,fast,128,4,4,1,0,2,1,0,8,800,400,0.75,1,16," +
            number_text(2.0 / 6) +
            "\n"
            "1,1,slow,64,2,2,0,0,2,4,0,8,400,800,5,5,8," +
            number_text(2.0 / 6) +
            "\n"
            "2,2,\"odd, name\",0,0,0,0,0,0,0,0,0,0,0,,,0,0\n");
}

TEST_CASE("links.csv: utilization is bytes carried over capacity") {
  RunRecord record = sample_record();
  record.links.size = 1;
  record.links.row = [](std::size_t) { return LinkRecord{"worker 0 up", "worker 0", "switch", 125e6, 250e6, seconds(2.5)}; };
  // 250 MB of 8 s at 125 MB/s = 1 GB
  CHECK(table(record, write_links) ==
        "link,from,to,bandwidth_bytes_per_s,bytes,busy_s,utilization\n"
        "worker 0 up,worker 0,switch,125000000,250000000,2.5,0.25\n");
  record.end = Time();
  CHECK(table(record, write_links).find(",2.5,0\n") != std::string::npos);
}

TEST_CASE("links.csv has the queues where messages are packets") {
  RunRecord record = sample_record();
  record.links.size = 1;
  record.links.queues = true;
  record.links.row = [](std::size_t) {
    return LinkRecord{"worker 0 up", "worker 0", "switch", 125e6, 250e6, seconds(2.5), 131072, 1024.5};
  };
  CHECK(table(record, write_links) ==
        "link,from,to,bandwidth_bytes_per_s,bytes,busy_s,utilization,longest_queue_bytes,mean_queue_bytes\n"
        "worker 0 up,worker 0,switch,125000000,250000000,2.5,0.25,131072,1024.5\n");
}

TEST_CASE("links.csv has losses and timeouts where queues have an end") {
  RunRecord record = sample_record();
  record.links.size = 1;
  record.links.queues = record.links.losses = true;
  record.links.row = [](std::size_t) {
    return LinkRecord{"worker 0 up", "worker 0", "switch", 125e6, 250e6, seconds(2.5), 131072, 1024.5, 17, 3};
  };
  CHECK(table(record, write_links) ==
        "link,from,to,bandwidth_bytes_per_s,bytes,busy_s,utilization,longest_queue_bytes,mean_queue_bytes,lost_packets,timeouts\n"
        "worker 0 up,worker 0,switch,125000000,250000000,2.5,0.25,131072,1024.5,17,3\n");
}
