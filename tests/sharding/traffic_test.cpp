// Bytes that workers send whose states are shared, by stage.
#include "tests/sharding/shared_states.hpp"

namespace sharding_traffic_test {

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<double> units = {120'000, 40'000, 200'000};  // of 40 in each: no padding for 2, 4, 5 and 8 workers

/// Each worker has sent that much in an update.
void check_sent(const Result& result, double bytes) {
  for (const WorkerRecord& worker : result.record.workers) CHECK(static_cast<double>(worker.bytes_sent) == updates * bytes);
}

/// Of the network cards' ways out.
double bytes_out(const Result& result, int hosts) {
  double out = 0;
  for (std::size_t id = 0; id < result.record.links.size; ++id)
    if (const LinkRecord link = result.record.links.row(id); link.name.ends_with(":up")) out += link.bytes;
  return out / hosts / updates;
}

}  // namespace

TEST_CASE("stages 1 and 2 send (p-1)/p N (g + r), stage 3 (p-1)/p [(2 N - N_last) g + N r]") {
  const double all = sum(units), last = units.back();
  for (const char* fidelity : {"fluid", "stepwise"})
    for (const int p : {2, 5, 8})
      for (const double number : {4.0, 2.0}) {
        CAPTURE(fidelity);
        CAPTURE(p);
        CAPTURE(number);
        const std::string collective = std::string("algorithm: ring, fidelity: ") + fidelity;
        const Sets precision = {number == 4 ? "workload.precision=fp32" : "workload.precision=bf16"};
        const double part = (p - 1.0) / p * number;
        for (const char* stage : {"1", "2"}) {
          check_sent(run_timing(cluster(p), sharded(std::string("stage: ") + stage, units, precision, collective)), part * 2 * all);
          check_sent(run_timing(cluster(p),
                                sharded(std::string("stage: ") + stage, units, precision, collective + ", bucket: 100kB, overlap: true")),
                     part * 2 * all);
        }
        const Result third = run_timing(cluster(p), sharded("stage: 3", units, precision, collective));
        check_sent(third, part * (3 * all - last));
        check_books(third, true);
      }
}

TEST_CASE("each unit is padded to the workers that share it") {
  // 7, 1 and 3 parameters for 4 workers: 8, 4 and 4.
  const Result result = run_timing(cluster(4), sharded("stage: 3", {7, 1, 3}));
  check_sent(result, 3.0 / 4 * 4 * (3 * (8 + 4 + 4) - 4));
}

TEST_CASE("micro-batches: stage 1 reduces once, stages 2 and 3 each time or once; stage 3 gathers each time or once") {
  const double all = sum(units), last = units.back(), part = 4.0 / 5 * 4;
  const Sets four = {"training.batch.accumulate=4"};
  const auto sent = [&](const std::string& sharding, double numbers) {
    CAPTURE(sharding);
    check_sent(run_timing(cluster(5), sharded(sharding, units, four)), part * numbers);
  };
  sent("stage: 1", 2 * all);
  sent("stage: 2", 4 * all + all);
  sent("stage: 2, reduce: last", 2 * all);
  sent("stage: 3", 4 * (2 * all - last) + 4 * all);
  sent("stage: 3, reduce: last", 4 * (2 * all - last) + all);
  sent("stage: 3, keep_gathered: true", all + 4 * all);
  sent("stage: 3, keep_gathered: true, reduce: last", 2 * all);
}

TEST_CASE("HSDP sends (h-1)/h (3 d - d_last) in its host and 2 (m-1)/m d/h between hosts") {
  const double d = 4 * sum(units), last = 4 * units.back(), h = 4, m = 2, p = h * m;
  const Result result = run_timing(cluster(8), sharded("stage: 3, across: host", units, on_hosts()));
  check_sent(result, (h - 1) / h * (3 * d - last) + 2 * (m - 1) / m * d / h);
  CHECK(bytes_out(result, 2) == doctest::Approx(2 * (m - 1) / m * d));
  for (const char* stage : {"1", "2"})
    check_sent(run_timing(cluster(8), sharded(std::string("across: host, stage: ") + stage, units, on_hosts())),
               (h - 1) / h * 2 * d + 2 * (m - 1) / m * d / h);
  // hpZ: backward's gathers stay in the host.
  const Result third = run_timing(cluster(8), sharded("stage: 3", units, on_hosts()));
  const Result second_copy = run_timing(cluster(8), sharded("stage: 3, secondary: host", units, on_hosts()));
  CHECK(bytes_out(third, 2) - bytes_out(second_copy, 2) == doctest::Approx((p - 1) / p * (d - last)));
  check_sent(second_copy, (p - 1) / p * 2 * d + (h - 1) / h * (d - last));
}

TEST_CASE("16 bits of what is gathered and reduced halve the bytes") {
  for (const char* kind : {"fp16", "bf16"})
    check_sent(run_timing(cluster(5), sharded("stage: 3", units, {std::string("training.compression=") + kind})),
               4.0 / 5 * 2 * (3 * sum(units) - units.back()));
}

TEST_CASE("the ratio of compression is that of the bytes without and with it") {
  const Sets settings[] = {sharded("stage: 1", units),
                           sharded("stage: 2", units, {"training.batch.accumulate=4"}),
                           sharded("stage: 3", units),
                           sharded("stage: 3, across: host", units, on_hosts()),
                           sharded("stage: 3, secondary: host", units, on_hosts()),
                           sharded("stage: 3", units, {"training.clip=1"})};  // whose norms nothing shortens
  for (const Sets& without : settings) {
    Sets with = without;
    with.emplace_back("training.compression=fp16");
    const Result whole = run_timing(cluster(8), without), halved = run_timing(cluster(8), with);
    REQUIRE(halved.record.compression_ratio);
    CHECK(*halved.record.compression_ratio ==
          doctest::Approx(static_cast<double>(whole.record.bytes_sent) / static_cast<double>(halved.record.bytes_sent)).epsilon(1e-12));
    CHECK(*halved.record.compression_ratio == doctest::Approx(2).epsilon(1e-3));
    CHECK(!whole.record.compression_ratio);
  }
  // In 16 bits fp16 takes nothing off.
  Sets narrow = sharded("stage: 3", units, {"workload.precision=bf16", "training.compression=fp16"});
  CHECK(*run_timing(cluster(8), narrow).record.compression_ratio == doctest::Approx(1));
}

TEST_CASE("muon: hidden matrices are whole shares, and what AdamW steps fills the others") {
  const auto sent_by_one = [](int workers, int rows, const std::string& hidden) {
    Sets sets = sharded("stage: 1", {8}, {"training.optimizer={kind: muon, learning_rate: 0.1, adamw_learning_rate: 0.01}"});
    sets[1] = "workload.cost={model: {kind: layers, input: {tokens: 4}, vocabulary: " + std::to_string(rows) +
              ", layers: [{embedding: 8, rows: vocabulary, name: tokens}, " + hidden + "{linear: vocabulary, bias: false, tied: tokens}]}}";
    return static_cast<double>(run_timing(cluster(workers), sets).record.workers[0].bytes_sent) / updates;
  };
  const std::string small = "{linear: 8, bias: false}, {linear: 8, bias: false}, {linear: 8, bias: false}, ";
  const std::string wide = "{linear: 1000, bias: false}, {linear: 8, bias: false}, ";
  // An embedding of 1,000 rows of 8, and three matrices of 64: each of 2 workers has half of all.
  CHECK(sent_by_one(2, 1000, small) == 2 * 4 * 0.5 * (8000 + 3 * 64));
  // Two matrices of 8,000 for 4 workers: two shares of one each; 80 numbers do not fill the others.
  CHECK(sent_by_one(4, 10, wide) == doctest::Approx(2 * 4 * 0.75 * 4 * 8000).epsilon(1e-3));
  // With an embedding of 32,000 numbers each has 12,000.
  CHECK(sent_by_one(4, 4000, wide) == 2 * 4 * 0.75 * (32'000 + 2 * 8000));
}

TEST_CASE("units: blocks by their names, layers, and layers joined up to a size") {
  const auto gathered_last = [](const std::string& units_key, const std::vector<std::string>& names) {
    std::string layers;
    for (const std::string& name : names) layers += (layers.empty() ? "{name: " : ", {name: ") + name + ", parameters: 8}";
    Sets sets = sharded("stage: 3" + units_key, {8});
    sets[1] = "workload.cost={model: {kind: sizes, layers: [" + layers + "]}}";
    const Result result = run_timing(cluster(2), sets);
    const double n = static_cast<double>(names.size()) * 8;
    return 3 * n - static_cast<double>(result.record.workers[0].bytes_sent) / updates / 4 * 2;  // N_last
  };
  const std::vector<std::string> encoder = {"embedding", "encoder.0.a", "encoder.0.b", "encoder.1.a", "encoder.1.b"};
  CHECK(gathered_last("", encoder) == 16);
  CHECK(gathered_last(", units: blocks", encoder) == 16);
  CHECK(gathered_last(", units: layers", encoder) == 8);
  CHECK(gathered_last(", units: 60B", encoder) == 8);   // two layers have 64 bytes: units of two, two and one
  CHECK(gathered_last(", units: 90B", encoder) == 16);  // of three and two
  CHECK(gathered_last("", {"a", "b", "c"}) == 8);
}

}  // namespace sharding_traffic_test
