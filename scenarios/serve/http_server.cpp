#include "scenarios/serve/http_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <filesystem>
#include <limits>
#include <list>
#include <memory>
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
constexpr std::size_t most_sessions = 64;
constexpr auto patience = std::chrono::seconds(30);  // for a request, and for each piece of an answer
constexpr auto between_looks = std::chrono::milliseconds(100);

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

class Session;
/// The open connections. Those that wait for a request give way to new ones: strangers without the token cannot keep its owner out.
class Sessions {
 public:
  void join(Session& session) { open_.push_back(&session); }
  void leave(Session& session) { open_.remove(&session); }
  bool full() const { return open_.size() >= most_sessions; }
  /// Ends one that waits for a request: of those that never had the token the first, else of all; false: none waits.
  bool end_one();

 private:
  std::list<Session*> open_;  // in the order in which they came, or were last answered
};

/// One connection; it lives as long as one of its handlers.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Desk& desk, std::shared_ptr<Sessions> sessions)
      : stream_(std::move(socket)), desk_(desk), sessions_(std::move(sessions)) {
    sessions_->join(*this);
  }
  ~Session() { sessions_->leave(*this); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool waits() const { return waits_; }
  bool had_token() const { return had_token_; }
  void end() {
    waits_ = false;
    stream_.close();
  }

  void read() {
    waits_ = true;
    sessions_->leave(*this);
    sessions_->join(*this);
    head_only_ = false;
    head_.emplace();
    head_->header_limit(most_header_bytes);
    head_->body_limit(std::numeric_limits<std::uint64_t>::max());  // what follows has limits of its own
    stream_.expires_after(patience);
    http::async_read_header(stream_, buffer_, *head_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      self->waits_ = false;
      if (error == http::error::header_limit) return self->refuse_long();
      if (error) return self->close();
      self->read_body();
    });
  }

 private:
  void refuse_long() { send({.status = 413, .body = R"({"problem":"the request is too long"})"}, true); }

  void read_body() {
    last_ = !head_->get().keep_alive();
    asked_ = request_of(head_->get());
    const auto length = head_->content_length();
    if (Desk::takes_file(asked_)) {
      asked_.bytes = length ? *length : std::uint64_t{0};
      return begin_file();
    }
    if (length && *length > most_body_bytes) return refuse_long();
    parser_.emplace(std::move(*head_));
    parser_->body_limit(most_body_bytes);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (error == http::error::body_limit) return self->refuse_long();
      if (error) return self->close();
      self->asked_.body = std::move(self->parser_->get().body());
      self->handle();
    });
  }

  void begin_file() {
    WebAnswer refusal;
    const std::optional<std::filesystem::path> place = head_->chunked() ? std::nullopt : desk_.file_place(asked_, refusal);
    if (head_->chunked()) refusal = {.status = 411, .body = R"({"problem":"the length of the file is missing"})"};
    if (!place) return send(std::move(refusal), true);
    file_.emplace(std::move(*head_));
    file_->body_limit(asked_.bytes);
    beast::error_code error;
    file_->get().body().open(place->c_str(), beast::file_mode::write, error);
    if (error) return send({.status = 500, .body = R"({"problem":"the file cannot be written"})"}, true);
    if (file_->is_done()) return end_file();  // it is empty
    read_file();
  }

  /// Piece by piece: a large file may take its time, a sender that stops may not.
  void read_file() {
    stream_.expires_after(patience);
    http::async_read_some(stream_, buffer_, *file_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (error) {
        self->file_.reset();
        return self->close();
      }
      if (!self->file_->is_done()) return self->read_file();
      self->end_file();
    });
  }
  void end_file() {
    file_->get().body().close();
    file_.reset();
    handle();
  }

  template <class Request>
  static WebRequest request_of(const Request& request) {
    const auto header = [&](auto name) { return request.count(name) == 1 ? text_of(request[name]) : std::string(); };
    WebRequest asked{text_of(request.method_string()), text_of(request.target()), header(http::field::content_type), {}, {}};
    asked.from = {header(http::field::host), header("X-Straggler-Token"), header(http::field::origin), header("Sec-Fetch-Site")};
    // Whoever sends the token in a header can do so only by a program or a script of our own.
    asked.by_browser = asked.from.token.empty() &&
                       (request.count("Sec-Fetch-Dest") > 0 || header(http::field::accept).find("text/html") != std::string::npos);
    // A header that comes twice counts as an invalid one.
    if (request.count(http::field::origin) > 1 || request.count("Sec-Fetch-Site") > 1) asked.from.host.clear();
    return asked;
  }

  void handle() {
    head_only_ = asked_.method == "HEAD";
    if (head_only_) asked_.method = "GET";
    const bool last = last_;
    stream_.expires_never();  // as long as the answer takes
    desk_.answer(asked_, [self = shared_from_this(), last](WebAnswer answer) mutable {
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
    response.set("X-Frame-Options", answer.framed ? "SAMEORIGIN" : "DENY");
    response.set("Content-Security-Policy", answer.policy.empty() ? "default-src 'none'; frame-ancestors 'none'" : answer.policy);
    response.keep_alive(!last);
    response.prepare_payload();
  }

  void send(WebAnswer answer, bool last) {
    constexpr unsigned fine = 200;
    had_token_ = had_token_ || answer.status == fine;
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
    auto serializer = std::make_shared<http::response_serializer<Body>>(*response);
    if (head_only_) {
      stream_.expires_after(patience);
      http::async_write_header(
          stream_, *serializer,
          [self = shared_from_this(), response, serializer, last](beast::error_code error, std::size_t) { self->written(error, last); });
    } else {
      write_piece(std::move(response), std::move(serializer), last);
    }
  }

  /// Piece by piece: a slow reader may take its time, one that reads nothing may not.
  template <class Response, class Serializer>
  void write_piece(std::shared_ptr<Response> response, std::shared_ptr<Serializer> serializer, bool last) {
    stream_.expires_after(patience);
    Serializer& pieces = *serializer;
    http::async_write_some(stream_, pieces,
                           [self = shared_from_this(), response, serializer, last](beast::error_code error, std::size_t) mutable {
                             if (error || serializer->is_done()) return self->written(error, last);
                             self->write_piece(std::move(response), std::move(serializer), last);
                           });
  }

  void written(beast::error_code error, bool last) {
    if (error || last) return close();
    read();
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{most_header_bytes + most_body_bytes};
  std::optional<http::request_parser<http::empty_body>> head_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::request_parser<http::file_body>> file_;
  WebRequest asked_;
  Desk& desk_;
  std::shared_ptr<Sessions> sessions_;
  bool head_only_ = false, last_ = false, waits_ = false, had_token_ = false;
};

bool Sessions::end_one() {
  auto chosen = std::ranges::find_if(open_, [](const Session* one) { return one->waits() && !one->had_token(); });
  if (chosen == open_.end()) chosen = std::ranges::find_if(open_, &Session::waits);
  if (chosen == open_.end()) return false;
  (*chosen)->end();
  return true;
}

}  // namespace

struct HttpServer::Implementation {
  std::shared_ptr<Sessions> sessions = std::make_shared<Sessions>();
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer timer{context}, pause{context};

  void accept(Desk& desk) {
    acceptor.async_accept([this, &desk](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      const bool has_room = !error && (!sessions->full() || sessions->end_one());
      if (has_room) std::make_shared<Session>(std::move(socket), desk, sessions)->read();
      if (!error) return accept(desk);
      // No file descriptor is left, most likely: the connection waits, and would be reported again at once.
      sessions->end_one();
      pause.expires_after(between_looks);
      pause.async_wait([this, &desk](beast::error_code stopped) {
        if (!stopped) accept(desk);
      });
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
