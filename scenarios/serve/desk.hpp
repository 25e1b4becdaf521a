// Answers requests about one folder of results: maps addresses to replies, without HTTP.
#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "scenarios/serve/dropped_files.hpp"
#include "scenarios/serve/gate.hpp"
#include "scenarios/serve/math_job.hpp"
#include "scenarios/serve/what_if.hpp"

namespace straggler {

struct WebRequest {
  std::string method, target, content_type, body;
  Gate::Request from;       // `token`: of the header; one in the address is found by the desk
  bool by_browser = false;  // it asks for a page to show
  std::uint64_t bytes = 0;  // of its body, where that is a file
};

struct WebAnswer {
  unsigned status = 200;
  std::string type = "application/json", body = {};
  std::optional<std::filesystem::path> file = {};  // sent instead of `body`
  std::string policy = {};                         // Content-Security-Policy
  bool framed = false;                             // a page of this server may show it in a frame
};

/// An address taken apart: "/results/a%20b/report.html?token=..".
struct Address {
  std::string path;                          // decoded, from "/"
  std::map<std::string, std::string> query;  // decoded; of a name that comes twice the first value
};
/// None: a bad escape, a control character, or no path.
std::optional<Address> parse_address(std::string_view target);

/// The addresses:
///  - GET /                     the page; /charts.js, /what_if.js, /page.js, /page.css with it
///  - GET /api/results          results and scenarios
///  - GET /api/running          runs in progress
///  - POST /api/preview         {scenario, settings}: the timing, cut by wall time
///  - POST /api/math            {scenario, settings}: starts the math; GET: how far it is; POST /api/math/cancel
///  - POST /api/drop          {files: [{name, bytes}]}: announces files; POST /api/upload?drop=..&file=N: a file's bytes; POST /api/import
///                              {drop}: what they are, as a folder in imported/
///  - GET /files/TOKEN/PATH     a file of the folder. The token stands in the path, so that links within a result work; so a browser gets
///                              pages and pictures, which may hold scripts of strangers, in a frame whose own address has no token:
///  - GET /shown/TICKET/PATH    what the frame shows; a ticket serves once, for one file
class Desk {
 public:
  /// `root` is a folder. Starts a thread for previews.
  Desk(std::filesystem::path root, Gate gate, unsigned threads);
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  /// Calls `reply` once: now, or later from another thread. Of previews only the newest is worth an answer: one that waits or runs when
  /// another comes is answered with 409.
  using Reply = std::function<void(WebAnswer)>;
  void answer(const WebRequest& request, Reply reply);

  /// Its body is a file, which the server writes before it asks for the answer.
  static bool takes_file(const WebRequest& request);
  /// Where the file goes. Nothing: `refusal` is the answer, and its body is not read.
  std::optional<std::filesystem::path> file_place(const WebRequest& request, WebAnswer& refusal);

 private:
  using Json = nlohmann::ordered_json;
  struct Job {
    Json request;
    Reply reply;
  };
  struct Asked {
    std::string path;  // of the scenario, as seen from root_
    ChangedScenario scenario;
  };

  /// None: `reply` was taken, and is called later.
  std::optional<WebAnswer> answer_now(const WebRequest& request, Reply& reply);
  std::optional<WebAnswer> asset(const std::string& path) const;
  WebAnswer file_of(std::string_view relative, bool in_frame);
  /// The token if `ticket` was given for the file and is unspent, which it is no longer; otherwise empty.
  std::string spend(std::string_view ticket, std::string_view relative);
  void preview_later(Json request, Reply reply);
  void work_on_previews();
  bool newer_waits() const;
  WebAnswer preview_answer(const Json& request);
  Asked read(const Json& request) const;
  WebAnswer start_math(const Json& request);
  WebAnswer compare_ticked(const Json& request) const;
  std::optional<WebAnswer> import_later(const Json& request, Reply* reply);

  const std::filesystem::path root_;
  const Gate gate_;
  struct Ticket {
    std::string name, file;
  };
  std::deque<Ticket> tickets_;  // unspent ones, the oldest first
  MathJob math_;
  DroppedFiles dropped_;
  WhatIfPage what_if_;  // the preview thread's
  mutable std::mutex mutex_;
  std::condition_variable waiting_;
  std::optional<Job> next_;  // guarded by mutex_, as `ends_`
  bool ends_ = false;
  std::thread previews_;
};

}  // namespace straggler
