#include "validation/sweep_ranks/sweep_messages.hpp"

#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"

namespace straggler {

void put_setup(Packer& to, const RankSetup& setup) {
  to.put(std::uint32_t{setup.jobs});
  to.put(std::uint32_t{setup.threads});
  to.put_text(setup.kernels);
  to.put(std::uint8_t{setup.store});
}

RankSetup get_setup(Unpacker& from) {
  RankSetup setup;
  setup.jobs = from.get<std::uint32_t>();
  setup.threads = from.get<std::uint32_t>();
  setup.kernels = from.get_text();
  setup.store = from.get<std::uint8_t>() != 0;
  return setup;
}

void put_work(Packer& to, const PointWork& work) {
  to.put(work.ticket);
  to.put(std::uint8_t{work.timing_only});
  to.put_text(work.scenario.file.string());
  to.put_text(write_scenario(work.scenario));
}

PointWork get_work(Unpacker& from) {
  PointWork work;
  work.ticket = from.get<std::uint64_t>();
  work.timing_only = from.get<std::uint8_t>() != 0;
  const std::string file = from.get_text();
  if (file.find('\0') != std::string::npos) throw std::logic_error("a message between ranks holds a file name with a zero byte");
  work.scenario = read_scenario_text(from.get_text(), file);
  work.scenario.places.reset();  // its text is in no user's file
  return work;
}

void put_point(Packer& to, const FinishedPoint& point) {
  to.put(std::uint64_t{point.fields.size()});
  for (const SummaryField& field : point.fields) {
    to.put_text(field.key);
    to.put(static_cast<std::uint8_t>(field.value.kind()));
    to.put_text(field.value.written());
  }
  to.put(point.wall_seconds);
  to.put_text(point.sketch);
}

FinishedPoint get_point(Unpacker& from) {
  FinishedPoint point;
  for (auto count = from.get<std::uint64_t>(); count > 0; --count) {
    std::string key = from.get_text();
    const auto kind = static_cast<Scalar::Kind>(from.get<std::uint8_t>());
    const std::string written = from.get_text();
    try {
      point.fields.push_back({std::move(key), Scalar::read(kind, written)});
    } catch (const std::invalid_argument& wrong) {
      throw std::logic_error(std::string("a message between ranks holds a wrong scalar: ") + wrong.what());
    }
  }
  point.wall_seconds = from.get<double>();
  point.sketch = from.get_text();
  return point;
}

void put_evaluation(Packer& to, const Evaluation& value) {
  to.put(value.loss);
  to.put(value.accuracy);
}

Evaluation get_evaluation(Unpacker& from) {
  Evaluation value;
  value.loss = from.get<double>();
  value.accuracy = from.get<double>();
  return value;
}

void put_keys(Packer& to, const std::vector<Key>& keys) {
  to.put(std::uint64_t{keys.size()});
  for (const Key& key : keys) to.put(key);
}

std::vector<Key> get_keys(Unpacker& from) {
  std::vector<Key> keys;
  for (auto count = from.get<std::uint64_t>(); count > 0; --count) keys.push_back(from.get_key());
  return keys;
}

}  // namespace straggler
