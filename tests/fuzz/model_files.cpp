// Model files and checkpoints.
#include "models/executor/checkpoint.hpp"
#include "models/safetensors/model_weights.hpp"
#include "models/safetensors/safetensors.hpp"
#include "models/safetensors/typed.hpp"
#include "models/zoo/model.hpp"
#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {
namespace {

void safetensors(std::string_view input) {
  const std::string file = write_file("model.safetensors", input);
  may_refuse<DataError>([&] {
    const TypedFile typed = read_typed_safetensors(file);
    const std::string written = write_file("again.safetensors", safetensors_bytes(typed));
    if (read_typed_safetensors(written).tensors.size() != typed.tensors.size()) throw Find("other tensors after writing");
  });
  may_refuse<DataError>([&] { read_safetensors(file); });
}
const AddTarget add_safetensors("safetensors", "a safetensors file", safetensors);

/// The hash at the end is made right: whoever can write a checkpoint can hash it.
void checkpoint(std::string_view input) {
  std::string bytes(input.substr(0, input.size() / 8 * 8));
  const Key hash = Hasher().add_bytes(bytes.data(), bytes.size()).key();
  bytes.append(reinterpret_cast<const char*>(&hash.high), 8).append(reinterpret_cast<const char*>(&hash.low), 8);
  const std::string file = write_file("run.checkpoint", bytes);
  may_refuse<DataError>([&] {
    CheckpointFile read(file);
    Key key;
    std::vector<float> floats;
    for (std::uint64_t taken = 0; taken < 1000 && read.next(key, floats); ++taken) {
    }
  });
}
const AddTarget add_checkpoint("checkpoint", "a checkpoint without its hash", checkpoint);

}  // namespace
}  // namespace straggler::fuzz
