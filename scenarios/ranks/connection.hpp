// Messages between the processes of a run, over TCP.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/packing.hpp"

namespace straggler {

/// The other end is gone or silent, or says what cannot be.
struct ConnectionLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Connection {
 public:
  /// what() of a ConnectionLost after too long a silence.
  static constexpr std::string_view silent = "silent";

  explicit Connection(int socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// One message: the one after the other. Any thread may call it. Throws ConnectionLost.
  void send(std::span<const std::byte> head, std::span<const std::byte> rest = {});
  /// The same, unless another thread is sending.
  void send_if_free(std::span<const std::byte> message);
  /// The next message; one thread calls it. Throws ConnectionLost, also for one of more than `most` bytes.
  Bytes receive(std::uint64_t most);
  /// From now on `receive` throws ConnectionLost after such a silence.
  void wait_at_most(std::chrono::milliseconds silence);
  std::uint64_t sent_bytes() const { return sent_; }
  std::uint64_t received_bytes() const { return received_; }
  /// `send` and `receive` throw from now on, also those that other threads wait in.
  void cut() noexcept;

 private:
  void send_now(std::span<const std::byte> head, std::span<const std::byte> rest);
  void receive_exactly(std::span<std::byte> to);

  const int socket_;
  std::mutex sending_;
  std::atomic<std::uint64_t> sent_ = 0, received_ = 0;
};

class Listener {
 public:
  /// On a free port: of this machine alone (127.0.0.1), or of all its addresses. Throws std::system_error.
  explicit Listener(bool this_machine);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  std::uint16_t port() const { return port_; }
  /// Where others can reach it.
  std::vector<std::string> addresses() const;
  /// Null: nobody has come by then.
  std::unique_ptr<Connection> accept(std::chrono::steady_clock::time_point until) const;

 private:
  const bool this_machine_;
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

/// Null: nobody listens there.
std::unique_ptr<Connection> connect_to(const std::string& address, std::uint16_t port, std::chrono::milliseconds patience);

}  // namespace straggler
