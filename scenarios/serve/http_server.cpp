#include "scenarios/serve/http_server.hpp"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace straggler {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::uint32_t most_header_bytes = 16 << 10;
constexpr std::uint64_t most_body_bytes = 64 << 10;
constexpr int most_sessions = 64;
constexpr auto patience = std::chrono::seconds(30);
constexpr auto between_looks = std::chrono::milliseconds(100);

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

/// One connection; it lives as long as one of its handlers.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Desk& desk, std::atomic<int>& sessions) : stream_(std::move(socket)), desk_(desk), sessions_(sessions) {
    ++sessions_;
  }
  ~Session() { --sessions_; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(most_header_bytes);
    parser_->body_limit(most_body_bytes);
    stream_.expires_after(patience);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (error == http::error::body_limit || error == http::error::header_limit)
        return self->send({.status = 413, .body = R"({"problem":"the request is too long"})"}, true);
      if (error) return self->close();
      self->handle();
    });
  }

 private:
  void handle() {
    const auto& request = parser_->get();
    const auto header = [&](auto name) { return request.count(name) == 1 ? text_of(request[name]) : std::string(); };
    WebRequest asked{text_of(request.method_string()), text_of(request.target()), header(http::field::content_type), request.body(), {}};
    asked.from = {header(http::field::host), header("X-Straggler-Token"), header(http::field::origin), header("Sec-Fetch-Site")};
    // A header that comes twice counts as an invalid one.
    if (request.count(http::field::origin) > 1 || request.count("Sec-Fetch-Site") > 1) asked.from.host.clear();
    head_only_ = request.method() == http::verb::head;
    if (head_only_) asked.method = "GET";
    const bool last = !request.keep_alive();
    stream_.expires_never();  // as long as the answer takes
    desk_.answer(asked, [self = shared_from_this(), last](WebAnswer answer) mutable {
      auto executor = self->stream_.get_executor();
      asio::post(executor, [self = std::move(self), last, answer = std::move(answer)]() mutable { self->send(std::move(answer), last); });
    });
  }

  template <class Body>
  void prepare(http::response<Body>& response, const WebAnswer& answer, bool last) {
    response.version(11);
    response.result(answer.status);
    response.set(http::field::content_type, answer.type);
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.set("Referrer-Policy", "no-referrer");
    response.set("Cross-Origin-Resource-Policy", "same-origin");
    if (!answer.file) response.set("Cross-Origin-Opener-Policy", "same-origin");  // a sandboxed page may not have it
    response.set("X-Frame-Options", "DENY");
    response.set("Content-Security-Policy", answer.policy.empty() ? "default-src 'none'; frame-ancestors 'none'" : answer.policy);
    response.keep_alive(!last);
    response.prepare_payload();
  }

  void send(WebAnswer answer, bool last) {
    if (answer.file) {
      auto response = std::make_shared<http::response<http::file_body>>();
      beast::error_code error;
      response->body().open(answer.file->c_str(), beast::file_mode::scan, error);
      if (!error) {
        prepare(*response, answer, last);
        return write(std::move(response), last);
      }
      answer = {.status = 404, .body = R"({"problem":"the file cannot be read"})"};
    }
    auto response = std::make_shared<http::response<http::string_body>>();
    response->body() = std::move(answer.body);
    prepare(*response, answer, last);
    write(std::move(response), last);
  }

  template <class Body>
  void write(std::shared_ptr<http::response<Body>> response, bool last) {
    stream_.expires_after(patience);
    const auto done = [self = shared_from_this(), response, last](beast::error_code error) {
      if (error || last) return self->close();
      self->read();
    };
    auto serializer = std::make_shared<http::response_serializer<Body>>(*response);
    if (head_only_)
      http::async_write_header(stream_, *serializer, [done, serializer](beast::error_code error, std::size_t) { done(error); });
    else
      http::async_write(stream_, *serializer, [done, serializer](beast::error_code error, std::size_t) { done(error); });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{most_header_bytes + most_body_bytes};
  std::optional<http::request_parser<http::string_body>> parser_;
  Desk& desk_;
  std::atomic<int>& sessions_;
  bool head_only_ = false;
};

}  // namespace

struct HttpServer::Implementation {
  std::atomic<int> sessions = 0;  // the last to go: connections count themselves out
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer timer{context};

  void accept(Desk& desk) {
    acceptor.async_accept([this, &desk](beast::error_code error, tcp::socket socket) {
      if (!error && sessions < most_sessions) std::make_shared<Session>(std::move(socket), desk, sessions)->read();
      if (error != asio::error::operation_aborted) accept(desk);
    });
  }

  void look(const std::function<bool()>& stops) {
    timer.expires_after(between_looks);
    timer.async_wait([this, &stops](beast::error_code) {
      if (stops())
        context.stop();
      else
        look(stops);
    });
  }
};

HttpServer::HttpServer(int port) : implementation_(std::make_unique<Implementation>()) {
  const tcp::endpoint place(asio::ip::address_v4::loopback(), static_cast<unsigned short>(port));
  tcp::acceptor& acceptor = implementation_->acceptor;
  try {
    acceptor.open(place.protocol());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(place);
    acceptor.listen();
  } catch (const boost::system::system_error& error) {
    throw PortTaken(fmt::format("port {} of 127.0.0.1 cannot be opened: {}", port, error.code().message()));
  }
}

HttpServer::~HttpServer() = default;
int HttpServer::port() const { return implementation_->acceptor.local_endpoint().port(); }

void HttpServer::run(Desk& desk, const std::function<bool()>& stops) {
  implementation_->accept(desk);
  implementation_->look(stops);
  implementation_->context.run();
}

}  // namespace straggler
