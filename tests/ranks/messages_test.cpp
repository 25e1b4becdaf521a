// What ranks that share a run say to each other, and the connection that carries it.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "scenarios/ranks/connection.hpp"
#include "scenarios/ranks/rank_messages.hpp"
#include "sim/lineage/lineage.hpp"
#include "tests/support/folder.hpp"

namespace straggler::test {
namespace {

using namespace std::chrono_literals;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Bytes written(const RemoteChain& chain) {
  Packer packer;
  put_chain(packer, chain);
  return packer.take();
}

/// Two ends of a connection of this machine.
struct Pair {
  Pair() {
    const Listener listener(true);
    one = connect_to("127.0.0.1", listener.port(), 2s);
    other = listener.accept(std::chrono::steady_clock::now() + 10s);
    REQUIRE(one);
    REQUIRE(other);
  }
  std::unique_ptr<Connection> one, other;
};

TEST_CASE("a chain arrives as it was sent, and no part of it is taken for a chain") {
  Formula gradient, step;
  gradient.kind = Formula::Kind::gradient;
  gradient.batches.push_back({.position = 7, .stream = 3, .size = 20});
  gradient.batches.push_back({.position = 1u << 20, .stream = 4, .size = 1});
  step.kind = Formula::Kind::elementwise;
  step.rule = &rules::weighted_mean;
  step.scalars = {0.1, -1.0 / 3};
  RemoteChain chain;
  chain.inputs = {{Key{1, 2}, nullptr}, {Key{3, 4}, nullptr}};
  chain.nodes = {{Key{5, 6}, &gradient, {~0}}, {Key{7, 8}, &step, {~1, 0}}};
  chain.outputs = {{Key{7, 8}, 1, nullptr}};
  for (const std::optional<std::uint32_t> lane : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(2)}) {
    chain.lane = lane;
    const Bytes bytes = written(chain);
    std::map<std::string, Rule> rules;
    Unpacker from(bytes);
    const ReceivedChain received = get_chain(from, rules);
    CHECK(from.done());
    CHECK(written(received.chain) == bytes);
    CHECK(received.chain.nodes[1].formula->rule->name == rules::weighted_mean.name);
    CHECK(received.chain.nodes[1].formula->scalars == step.scalars);
    CHECK(received.chain.lane == lane);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      Unpacker part(std::span<const std::byte>(bytes).first(length));
      CHECK_THROWS_AS(get_chain(part, rules), std::logic_error);
    }
  }
}

TEST_CASE("a chain that asks for a value that it does not name is refused") {
  RemoteChain chain;
  chain.outputs = {{Key{}, 0, nullptr}};
  const Bytes bytes = written(chain);
  std::map<std::string, Rule> rules;
  Unpacker from(bytes);
  CHECK_THROWS_AS(get_chain(from, rules), std::logic_error);
}

TEST_CASE("an offer arrives as it was sent") {
  RankOffer offer = offer_of_this_process(3, {Key{1, 2}, Key{3, 4}});
  offer.token = "secret";
  Packer packer;
  put_offer(packer, offer);
  const Bytes bytes = packer.take();
  Unpacker from(bytes);
  const RankOffer read = get_offer(from);
  CHECK(from.done());
  CHECK(read.token == "secret");
  CHECK(read.rank == 3);
  CHECK(read.identity.build == Key{3, 4});
  CHECK(read.kernels == offer.kernels);
  CHECK(read.kernels.front() == "generic");
  CHECK(read.machine == offer_of_this_process(4, {}).machine);
  CHECK(read.cores == offer.cores);
}

TEST_CASE("an address is readable by its user alone, and only as a whole") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "runs" / "mine.ranks";
  CHECK_FALSE(read_address(file));
  write_address(file, {4321, "secret", {"10.0.0.1", "127.0.0.1"}});
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::all) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  const std::optional<RankAddress> read = read_address(file);
  REQUIRE(read);
  CHECK(read->port == 4321);
  CHECK(read->token == "secret");
  CHECK(read->addresses == std::vector<std::string>{"10.0.0.1", "127.0.0.1"});
  for (const char* wrong : {"", "4321 secret 10.0.0.1", "many secret\n", "4321\n"}) {
    CAPTURE(wrong);
    std::ofstream(file) << wrong;
    CHECK_FALSE(read_address(file));
  }
}

TEST_CASE("messages of any length arrive whole and in turn") {
  Pair pair;
  const std::string large(3'000'000, 'x');
  std::thread sender([&] {
    pair.one->send(bytes_of("first"));
    pair.one->send(bytes_of("head"), bytes_of(large));
  });
  CHECK(text_of(pair.other->receive(100)) == "first");
  CHECK(text_of(pair.other->receive(1 << 22)) == "head" + large);
  sender.join();
  CHECK(pair.one->sent_bytes() == pair.other->received_bytes());
  CHECK(pair.one->sent_bytes() == 8 + 5 + 8 + 4 + large.size());
}

TEST_CASE("silence, an end and an impossible length are told apart") {
  const auto why = [](Connection& connection) {
    try {
      connection.receive(100);
    } catch (const ConnectionLost& lost) {
      return std::string(lost.what());
    }
    return std::string();
  };
  Pair silent, gone, wrong;
  silent.other->wait_at_most(20ms);
  CHECK(why(*silent.other) == Connection::silent);
  gone.one->cut();
  CHECK(why(*gone.other) == "gone");
  CHECK_THROWS_AS(gone.one->send(bytes_of("more")), ConnectionLost);
  wrong.one->send(bytes_of(std::string(101, 'x')));
  CHECK(why(*wrong.other) == "a message of an impossible length");
}

TEST_CASE("nobody comes, and nobody listens") {
  std::uint16_t port = 0;
  {
    const Listener listener(true);
    CHECK(listener.addresses() == std::vector<std::string>{"127.0.0.1"});
    CHECK_FALSE(listener.accept(std::chrono::steady_clock::now() + 10ms));
    port = listener.port();
  }
  CHECK_FALSE(connect_to("127.0.0.1", port, 1s));
  CHECK_FALSE(connect_to("no address", port, 1s));
}

}  // namespace
}  // namespace straggler::test
