#include "validation/sweep_ranks/sweep_messages.hpp"

#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"

namespace straggler {

void put_text(Packer& to, std::string_view text) { to.put_block(std::as_bytes(std::span(text))); }

std::string get_text(Unpacker& from) {
  const std::span<const std::byte> block = from.get_block();
  return {reinterpret_cast<const char*>(block.data()), block.size()};
}

void put_setup(Packer& to, const RankSetup& setup) {
  to.put(std::uint32_t{setup.jobs});
  to.put(std::uint32_t{setup.threads});
  put_text(to, setup.kernels);
  to.put(std::uint8_t{setup.store});
}

RankSetup get_setup(Unpacker& from) {
  RankSetup setup;
  setup.jobs = from.get<std::uint32_t>();
  setup.threads = from.get<std::uint32_t>();
  setup.kernels = get_text(from);
  setup.store = from.get<std::uint8_t>() != 0;
  return setup;
}

void put_work(Packer& to, const PointWork& work) {
  to.put(work.ticket);
  to.put(std::uint8_t{work.timing_only});
  put_text(to, work.scenario.file.string());
  put_text(to, write_scenario(work.scenario));
}

PointWork get_work(Unpacker& from) {
  PointWork work;
  work.ticket = from.get<std::uint64_t>();
  work.timing_only = from.get<std::uint8_t>() != 0;
  const std::string file = get_text(from);
  if (file.find('\0') != std::string::npos) throw std::logic_error("a message between ranks holds a file name with a zero byte");
  work.scenario = read_scenario_text(get_text(from), file);
  work.scenario.places.reset();  // its text is in no user's file
  return work;
}

void put_point(Packer& to, const FinishedPoint& point) {
  to.put(std::uint64_t{point.fields.size()});
  for (const SummaryField& field : point.fields) {
    put_text(to, field.key);
    to.put(static_cast<std::uint8_t>(field.value.kind()));
    put_text(to, field.value.written());
  }
  to.put(point.wall_seconds);
  put_text(to, point.sketch);
}

FinishedPoint get_point(Unpacker& from) {
  FinishedPoint point;
  for (auto count = from.get<std::uint64_t>(); count > 0; --count) {
    std::string key = get_text(from);
    const auto kind = static_cast<Scalar::Kind>(from.get<std::uint8_t>());
    const std::string written = get_text(from);
    try {
      point.fields.push_back({std::move(key), Scalar::read(kind, written)});
    } catch (const std::invalid_argument& wrong) {
      throw std::logic_error(std::string("a message between ranks holds a wrong scalar: ") + wrong.what());
    }
  }
  point.wall_seconds = from.get<double>();
  point.sketch = get_text(from);
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
