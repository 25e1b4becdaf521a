// HTTP on 127.0.0.1, by Boost.Beast, which no other file uses.
#pragma once
#include <functional>
#include <memory>
#include <stdexcept>

#include "scenarios/serve/desk.hpp"

namespace straggler {

/// The port is taken, or may not be opened.
struct PortTaken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class HttpServer {
 public:
  /// Opens the port on 127.0.0.1; 0: one that is free. Nothing is answered before run(). Throws PortTaken.
  explicit HttpServer(int port);
  ~HttpServer();
  int port() const;
  /// Answers until `stops` returns true; it is called ten times a second.
  void run(Desk& desk, const std::function<bool()>& stops);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace straggler
