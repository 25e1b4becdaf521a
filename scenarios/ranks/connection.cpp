#include "scenarios/ranks/connection.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace straggler {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_in place(in_addr address, std::uint16_t port) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_addr = address;
  made.sin_port = htons(port);
  return made;
}

/// True: the socket is ready by then.
bool wait_for(int socket, short event, std::chrono::steady_clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd one{socket, event, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

Connection::Connection(int socket) : socket_(socket) {
  const int yes = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Connection::~Connection() { ::close(socket_); }

void Connection::send(std::span<const std::byte> head, std::span<const std::byte> rest) {
  const std::lock_guard lock(sending_);
  send_now(head, rest);
}

void Connection::send_if_free(std::span<const std::byte> message) {
  const std::unique_lock lock(sending_, std::try_to_lock);
  if (lock) send_now(message, {});
}

void Connection::send_now(std::span<const std::byte> head, std::span<const std::byte> rest) {
  std::uint64_t length = head.size() + rest.size();
  const auto part = [](const void* from, std::size_t bytes) { return iovec{const_cast<void*>(from), bytes}; };
  std::array<iovec, 3> parts{part(&length, sizeof length), part(head.data(), head.size()), part(rest.data(), rest.size())};
  for (std::size_t first = 0; first < parts.size();) {
    msghdr message{};
    message.msg_iov = &parts[first];
    message.msg_iovlen = parts.size() - first;
    const ssize_t left = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (left < 0 && errno == EINTR) continue;
    if (left < 0) throw ConnectionLost(std::strerror(errno));
    auto gone = static_cast<std::size_t>(left);
    sent_ += gone;
    for (; first < parts.size() && gone >= parts[first].iov_len; ++first) gone -= parts[first].iov_len;
    if (first == parts.size()) break;
    parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + gone;
    parts[first].iov_len -= gone;
  }
}

Bytes Connection::receive(std::uint64_t most) {
  std::uint64_t length = 0;
  receive_exactly(std::as_writable_bytes(std::span(&length, 1)));
  if (length == 0 || length > most) throw ConnectionLost("a message of an impossible length");
  Bytes message(length);
  receive_exactly(message);
  return message;
}

void Connection::receive_exactly(std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t came = ::recv(socket_, to.data(), to.size(), 0);
    if (came < 0 && errno == EINTR) continue;
    if (came == 0 || (came < 0 && errno == ECONNRESET)) throw ConnectionLost("gone");
    if (came < 0) throw ConnectionLost(errno == EAGAIN || errno == EWOULDBLOCK ? std::string(silent) : std::strerror(errno));
    received_ += static_cast<std::size_t>(came);
    to = to.subspan(static_cast<std::size_t>(came));
  }
}

void Connection::wait_at_most(std::chrono::milliseconds silence) {
  timeval time{};
  time.tv_sec = silence.count() / 1000;
  time.tv_usec = silence.count() % 1000 * 1000;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

void Connection::cut() noexcept { ::shutdown(socket_, SHUT_RDWR); }

Listener::Listener(bool this_machine) : this_machine_(this_machine) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) fail("no socket for other ranks");
  sockaddr_in own = place({htonl(this_machine ? INADDR_LOOPBACK : INADDR_ANY)}, 0);
  socklen_t size = sizeof own;
  auto* const general = reinterpret_cast<sockaddr*>(&own);
  if (::bind(socket_, general, size) != 0 || ::listen(socket_, SOMAXCONN) != 0 || ::getsockname(socket_, general, &size) != 0) {
    ::close(socket_);
    fail("no port for other ranks");
  }
  port_ = ntohs(own.sin_port);
}

Listener::~Listener() { ::close(socket_); }

std::vector<std::string> Listener::addresses() const {
  if (this_machine_) return {"127.0.0.1"};
  std::vector<std::string> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) fail("no addresses of this machine");
  for (const ifaddrs* each = first; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text.data(), text.size());
    all.emplace_back(text.data());
  }
  ::freeifaddrs(first);
  // Last: another machine that tries it asks itself.
  std::stable_partition(all.begin(), all.end(), [](const std::string& each) { return !each.starts_with("127."); });
  return all;
}

std::unique_ptr<Connection> Listener::accept(std::chrono::steady_clock::time_point until) const {
  if (!wait_for(socket_, POLLIN, until)) return nullptr;
  const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  return socket < 0 ? nullptr : std::make_unique<Connection>(socket);
}

std::unique_ptr<Connection> connect_to(const std::string& address, std::uint16_t port, std::chrono::milliseconds patience) {
  in_addr host{};
  if (::inet_pton(AF_INET, address.c_str(), &host) != 1) return nullptr;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return nullptr;
  auto connection = std::make_unique<Connection>(socket);
  // The limit of a send is that of a connect, too.
  timeval time{};
  time.tv_sec = patience.count() / 1000;
  time.tv_usec = patience.count() % 1000 * 1000;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  const sockaddr_in there = place(host, port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) return nullptr;
  time = {};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  return connection;
}

}  // namespace straggler
