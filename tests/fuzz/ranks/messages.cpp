// Messages between ranks. A message comes from the same program, so its reader throws std::logic_error; but a wrong one must not take
// memory or crash.
#include "scenarios/schema/errors.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/mpi/values.hpp"
#include "validation/mpi/wire.hpp"
#include "validation/sweep_ranks/sweep_messages.hpp"

namespace straggler::fuzz {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The first byte says whether there is a part of running statistics, the second one its length; it ends the input. Nothing is compressed:
/// decoders trust the scalars of a message, which only a compressor of the same program makes.
void wire(std::string_view input) {
  if (input.size() < 2) return;
  const std::size_t main = input.size() - 2 - std::min<std::size_t>(static_cast<unsigned char>(input[1]), input.size() - 2);
  const Cut cut(24, static_cast<unsigned char>(input[0]) % 2 ? 24 : 20, 20);
  input.remove_prefix(2);
  may_refuse<std::logic_error>([&] {
    Lineage lineage(Math::lazy, Key{1, 2});
    HeldValues values(lineage);
    values.made(1, std::vector<float>(24, 1.0f));
    std::vector<Bytes> parts;
    for (const std::span<const std::byte> part : {bytes_of(input.substr(0, main)), bytes_of(input.substr(main))})
      parts.emplace_back(part.begin(), part.end());
    unpack(cut, values, parts);
  });
  may_refuse<std::logic_error>([&] {
    Lineage lineage(Math::lazy, Key{1, 2});
    HeldValues values(lineage);
    Unpacker from(bytes_of(input));
    unpack_names(values, from);
  });
}
const AddTarget add_wire("wire", "a payload between ranks: choice, length of statistics, message", wire);

void sweep_message(std::string_view input) {
  if (input.empty()) return;
  const char what = input[0];
  input.remove_prefix(1);
  may_refuse<ScenarioErrors>([&] {
    may_refuse<std::logic_error>([&] {
      Unpacker from(bytes_of(input));
      if (what == 's') get_setup(from);
      if (what == 'w') get_work(from);
      if (what == 'p') get_point(from);
      if (what == 'e') get_evaluation(from);
      if (what == 'k') get_keys(from);
    });
  });
}
const AddTarget add_sweep_message("sweep_message", "a message of a shared sweep: which, message", sweep_message);

}  // namespace
}  // namespace straggler::fuzz
