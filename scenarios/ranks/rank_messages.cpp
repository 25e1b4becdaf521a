#include "scenarios/ranks/rank_messages.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "models/kernels/kernels.hpp"
#include "sim/base/machine.hpp"

namespace straggler {

RankOffer offer_of_this_process(std::uint32_t rank, const RankIdentity& identity) {
  RankOffer offer;
  offer.rank = rank;
  offer.identity = identity;
  for (const std::string_view name : available_kernels()) offer.kernels.emplace_back(name);
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::ifstream start("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(start, id);
  offer.machine = Hasher().add(std::string_view(name.data())).add(std::string_view(id)).key();
  cpu_set_t mine;
  CPU_ZERO(&mine);
  ::sched_getaffinity(0, sizeof mine, &mine);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&mine, 1));
  offer.cores.assign(bytes.begin(), bytes.end());
  offer.quota = core_quota();
  return offer;
}

Packer message(RankTalk what) {
  Packer packer;
  packer.put(static_cast<std::uint8_t>(what));
  return packer;
}

void put_offer(Packer& to, const RankOffer& offer) {
  to.put_text(offer.token);
  to.put(offer.rank);
  to.put(offer.identity.arguments);
  to.put(offer.identity.build);
  to.put(std::uint64_t{offer.kernels.size()});
  for (const std::string& each : offer.kernels) to.put_text(each);
  to.put(offer.machine);
  to.put_block(offer.cores);
  to.put(offer.quota);
}

RankOffer get_offer(Unpacker& from) {
  RankOffer offer;
  offer.token = from.get_text();
  offer.rank = from.get<std::uint32_t>();
  offer.identity.arguments = from.get_key();
  offer.identity.build = from.get_key();
  for (auto count = from.get_count(sizeof(std::uint64_t)); count > 0; --count) offer.kernels.push_back(from.get_text());
  offer.machine = from.get_key();
  const std::span<const std::byte> cores = from.get_block();
  offer.cores.assign(cores.begin(), cores.end());
  offer.quota = from.get<std::uint32_t>();
  return offer;
}

namespace {

void put_formula(Packer& to, const Formula& formula) {
  to.put(static_cast<std::uint8_t>(formula.kind));
  to.put_text(formula.rule ? formula.rule->name : std::string_view());
  to.put(std::uint64_t{formula.batches.size()});
  for (const Batch& batch : formula.batches) {
    to.put(batch.position);
    to.put(batch.stream);
    to.put(batch.size);
  }
  to.put(std::uint64_t{formula.scalars.size()});
  for (const double scalar : formula.scalars) to.put(scalar);
}

Formula get_formula(Unpacker& from, std::map<std::string, Rule>& rules) {
  Formula formula;
  formula.kind = static_cast<Formula::Kind>(from.get<std::uint8_t>());
  if (std::string name = from.get_text(); !name.empty()) {
    const auto [at, fresh] = rules.try_emplace(std::move(name));
    if (fresh) at->second.name = at->first;  // others that were made before may be read now
    formula.rule = &at->second;
  }
  if ((formula.kind == Formula::Kind::elementwise) != (formula.rule != nullptr) || formula.kind > Formula::Kind::elementwise)
    throw std::logic_error("a message between ranks holds a formula that cannot be");
  for (auto count = from.get_count(16); count > 0; --count) {
    Batch& batch = formula.batches.emplace_back();
    batch.position = from.get<std::uint64_t>();
    batch.stream = from.get<std::uint32_t>();
    batch.size = from.get<std::uint32_t>();
  }
  for (auto count = from.get_count(sizeof(double)); count > 0; --count) formula.scalars.push_back(from.get<double>());
  return formula;
}

}  // namespace

void put_chain(Packer& to, const RemoteChain& chain) {
  to.put(std::uint64_t{chain.inputs.size()});
  for (const RemoteValue& input : chain.inputs) to.put(input.key);
  to.put(std::uint64_t{chain.nodes.size()});
  for (const RemoteChain::Node& node : chain.nodes) {
    to.put(node.key);
    put_formula(to, *node.formula);
    to.put(std::uint64_t{node.inputs.size()});
    for (const std::int32_t input : node.inputs) to.put(input);
  }
  to.put(std::uint64_t{chain.outputs.size()});
  for (const RemoteChain::Output& output : chain.outputs) to.put(output.node);
  to.put(std::uint8_t{chain.lane.has_value()});
  if (chain.lane) to.put(*chain.lane);
}

ReceivedChain get_chain(Unpacker& from, std::map<std::string, Rule>& rules) {
  ReceivedChain received;
  RemoteChain& chain = received.chain;
  for (auto count = from.get_count(sizeof(Key)); count > 0; --count) chain.inputs.push_back({from.get_key(), nullptr});
  for (auto count = from.get_count(sizeof(Key)); count > 0; --count) {
    RemoteChain::Node& node = chain.nodes.emplace_back();
    node.key = from.get_key();
    node.formula = received.formulas.emplace_back(std::make_unique<Formula>(get_formula(from, rules))).get();
    for (auto inputs = from.get_count(sizeof(std::int32_t)); inputs > 0; --inputs) node.inputs.push_back(from.get<std::int32_t>());
  }
  for (auto count = from.get_count(sizeof(std::uint32_t)); count > 0; --count) {
    const auto node = from.get<std::uint32_t>();
    if (node >= chain.nodes.size()) throw std::logic_error("a message between ranks asks for a value that it does not name");
    chain.outputs.push_back({chain.nodes[node].key, node, nullptr});
  }
  if (from.get<std::uint8_t>() != 0) chain.lane = from.get<std::uint32_t>();
  return received;
}

void write_address(const std::filesystem::path& file, const RankAddress& address) {
  std::string text = std::to_string(address.port) + ' ' + address.token;
  for (const std::string& each : address.addresses) text += ' ' + each;
  text += '\n';
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::filesystem::path fresh = file;
  fresh += ".new";
  ::unlink(fresh.c_str());  // of a killed run
  const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written = descriptor >= 0 && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int why = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!written) throw std::filesystem::filesystem_error("not written", fresh, std::error_code(why, std::generic_category()));
  std::filesystem::rename(fresh, file);
}

std::optional<RankAddress> read_address(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  if (!in || in.eof()) return std::nullopt;  // without its end
  std::istringstream words(line);
  RankAddress address;
  words >> address.port >> address.token;
  if (!words) return std::nullopt;
  address.addresses.assign(std::istream_iterator<std::string>(words), {});
  return address;
}

}  // namespace straggler
