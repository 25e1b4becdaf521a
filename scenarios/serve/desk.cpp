#include "scenarios/serve/desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "scenarios/report/page.hpp"
#include "scenarios/report/picture.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/serve/comparing.hpp"
#include "scenarios/serve/result_list.hpp"
#include "scenarios/serve/serve_resources.hpp"
#include "sim/base/problem_text.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/token.hpp"
#include "sim/base/xml_text.hpp"

namespace straggler {

namespace fs = std::filesystem;

namespace {

/// Pages ask this server only, run its own script only, and stand in no other page.
constexpr const char* page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";
/// Result pages are self-contained. They run with an opaque origin: they reach neither this server nor any other. A page could still send
/// what it knows by leaving for an address of another server, so a browser shows it in a frame, which may not leave (`frame-src`).
constexpr const char* result_policy =
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src "
    "data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

WebAnswer json_answer(const nlohmann::ordered_json& json, unsigned status = 200) {
  return {.status = status, .body = page_text(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))};
}

WebAnswer problem(unsigned status, const std::string& text) { return json_answer({{"problem", text}}, status); }

std::string replaced(std::string text, std::string_view mark, std::string_view with) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size()))
    text.replace(at, mark.size(), with);
  return text;
}

/// Appends `text` decoded; false on a bad escape or a control character.
bool decode(std::string_view text, std::string& to) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char small = static_cast<char>(c | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return false;
      c = static_cast<char>(16 * digit(text[i + 1]) + digit(text[i + 2]));
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
    to += c;
  }
  return true;
}

/// What a browser would run scripts in.
bool holds_scripts(const fs::path& file) { return file.extension() == ".html" || file.extension() == ".svg"; }

const char* type_of(const fs::path& file) {
  static constexpr std::pair<const char*, const char*> types[] = {
      {".html", "text/html; charset=utf-8"}, {".svg", "image/svg+xml"}, {".json", "application/json"}};
  for (const auto& [ending, type] : types)
    if (file.extension() == ending) return type;
  return "text/plain; charset=utf-8";
}

constexpr std::string_view files = "/files/", shown_files = "/shown/", upload = "/api/upload";
constexpr const char* html_type = "text/html; charset=utf-8";
constexpr const char* script_type = "text/javascript; charset=utf-8";

/// The drop and the file that an upload is for.
std::pair<std::string, std::size_t> upload_of(const Address& address) {
  const auto drop = address.query.find("drop"), file = address.query.find("file");
  std::size_t number = 0;
  const bool numbered = file != address.query.end() &&
                        std::from_chars(file->second.data(), file->second.data() + file->second.size(), number).ec == std::errc();
  if (drop == address.query.end() || !numbered) throw std::invalid_argument("the drop and the number of the file are missing; name both");
  return {drop->second, number};
}

}  // namespace

std::optional<Address> parse_address(std::string_view target) {
  if (!target.starts_with('/')) return std::nullopt;
  const std::size_t mark = std::min(target.find('?'), target.size());
  Address out;
  if (!decode(target.substr(0, mark), out.path)) return std::nullopt;
  std::string_view rest = target.substr(std::min(mark + 1, target.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t equals = std::min(part.find('='), part.size());
    std::string name, value;
    if (!decode(part.substr(0, equals), name) || !decode(part.substr(std::min(equals + 1, part.size())), value)) return std::nullopt;
    out.query.emplace(std::move(name), std::move(value));
    rest = rest.substr(std::min(end + 1, rest.size()));
  }
  return out;
}

Desk::Desk(fs::path root, Gate gate, unsigned threads)
    : root_(std::move(root)), gate_(std::move(gate)), math_(root_, threads), dropped_(root_), previews_([this] { work_on_previews(); }) {}

Desk::~Desk() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    next_.reset();
  }
  waiting_.notify_all();
  previews_.join();
}

void Desk::answer(const WebRequest& request, Reply reply) {
  std::optional<WebAnswer> answer;
  try {
    answer = answer_now(request, reply);
  } catch (const std::exception& error) {
    answer = problem(500, problem_text(error));
  }
  if (answer) reply(std::move(*answer));
}

std::optional<WebAnswer> Desk::answer_now(const WebRequest& request, Reply& reply) {
  const std::optional<Address> address = parse_address(request.target);
  if (!address) return problem(400, "this is not an address");
  Gate::Request from = request.from;
  const std::string& path = address->path;
  const bool is_file = path.starts_with(files), is_shown = path.starts_with(shown_files);
  const bool in_frame = is_file && request.by_browser;
  std::string_view file;
  if (is_file || is_shown) {
    const std::string_view rest = std::string_view(path).substr((is_file ? files : shown_files).size());
    const std::size_t end = std::min(rest.find('/'), rest.size());
    file = rest.substr(std::min(end + 1, rest.size()));
    from.token = is_file ? std::string(rest.substr(0, end)) : spend(rest.substr(0, end), file);
  } else if (const auto token = address->query.find("token"); token != address->query.end() && from.token.empty()) {
    from.token = token->second;
  }
  if (const std::string refusal = gate_.refusal(from); !refusal.empty()) return problem(403, refusal);
  if (request.method == "GET") {
    if (is_file || is_shown) return file_of(file, in_frame);
    if (std::optional<WebAnswer> found = asset(path)) return found;
    if (path == "/api/results") return json_answer({{"folder", root_.string()}, {"results", list_results(root_)}});
    if (path == "/api/running") {
      Json running = list_running(root_);
      for (Json& one : running) {
        const std::optional<LineChart> chart = live_chart(one["name"].get<std::string>(), one["rows"]);
        one["chart"] = chart ? drawn(figure_of({}, {}, *chart)) : Json();
      }
      return json_answer({{"running", std::move(running)}});
    }
    if (path == "/api/math") return json_answer(math_.state());
    return problem(404, "there is nothing at this address");
  }
  if (request.method != "POST") return problem(405, "only GET and POST are answered");
  if (path == upload) {
    const auto [drop, index] = upload_of(*address);
    dropped_.arrived(drop, index);
    return json_answer({{"bytes", request.bytes}});
  }
  if (!request.content_type.starts_with("application/json")) return problem(415, "a request must be application/json");
  if (path == "/api/math/cancel") {
    math_.cancel();
    return json_answer({{"state", "cancelling"}});
  }
  Json asked = Json::parse(request.body, nullptr, false);
  if (!asked.is_object()) return problem(400, "the request is not a JSON object");
  if (path == "/api/math") return start_math(asked);
  if (path == "/api/compare") return compare_ticked(asked);
  if (path == "/api/drop" || path == "/api/import") return import_later(asked, path == "/api/drop" ? nullptr : &reply);
  if (path != "/api/preview") return problem(404, "there is nothing at this address");
  preview_later(std::move(asked), std::move(reply));
  return std::nullopt;
}

std::optional<WebAnswer> Desk::asset(const std::string& path) const {
  if (path == "/") {
    std::string html = replaced(std::string(resources::serve_page_html()), "%TOKEN%", gate_.token());
    html = replaced(std::move(html), "%LICENCES%", xml_text(resources::echarts_licences()));
    html = replaced(std::move(html), "%FOLDER%", xml_text(root_.string()));
    return WebAnswer{.type = html_type, .body = std::move(html), .policy = page_policy};
  }
  if (path == "/charts.js") {
    std::string all(resources::echarts());
    all += '\n';
    for (const std::string_view each : page_scripts()) (all += each) += '\n';
    return WebAnswer{.type = script_type, .body = std::move(all)};
  }
  if (path == "/frame.js") return WebAnswer{.type = script_type, .body = std::string(resources::serve_frame_js())};
  if (path == "/what_if.js") return WebAnswer{.type = script_type, .body = std::string(resources::serve_what_if_js())};
  if (path == "/page.js") return WebAnswer{.type = script_type, .body = std::string(resources::serve_page_js())};
  if (path == "/page.css") {
    std::string all = picture_style();
    ((all += page_style()) += '\n') += resources::serve_page_css();
    return WebAnswer{.type = "text/css; charset=utf-8", .body = std::move(all)};
  }
  return std::nullopt;
}

WebAnswer Desk::file_of(std::string_view relative, bool in_frame) {
  const std::optional<fs::path> file = served_file(root_, relative);
  if (!file) return problem(404, "there is no such file in this folder");
  if (!in_frame || !holds_scripts(*file)) return {.type = type_of(*file), .file = *file, .policy = result_policy, .framed = true};
  constexpr std::size_t most_tickets = 256;
  if (tickets_.size() == most_tickets) tickets_.pop_front();
  const Ticket& ticket = tickets_.emplace_back(Ticket{new_token(), std::string(relative)});
  std::string html = replaced(std::string(resources::serve_frame_html()), "%TOKEN%", gate_.token());
  html = replaced(std::move(html), "%SHOWN%", fmt::format("{}{}/{}", shown_files, ticket.name, percent_encoded(ticket.file)));
  html = replaced(std::move(html), "%TITLE%", xml_text(ticket.file));
  return {.type = html_type, .body = std::move(html), .policy = fmt::format("{}; frame-src 'self'", page_policy)};
}

std::string Desk::spend(std::string_view ticket, std::string_view relative) {
  const auto found = std::ranges::find_if(tickets_, [&](const Ticket& one) { return one.name == ticket && one.file == relative; });
  if (found == tickets_.end()) return {};
  tickets_.erase(found);
  return gate_.token();
}

bool Desk::takes_file(const WebRequest& request) {
  const std::optional<Address> address = parse_address(request.target);
  return request.method == "POST" && address && address->path == upload;
}

std::optional<fs::path> Desk::file_place(const WebRequest& request, WebAnswer& refusal) {
  if (const std::string reason = gate_.refusal(request.from); !reason.empty()) {
    refusal = problem(403, reason);
    return std::nullopt;
  }
  if (request.content_type != "application/octet-stream") {
    refusal = problem(415, "a file must be application/octet-stream");
    return std::nullopt;
  }
  try {
    const auto [drop, index] = upload_of(*parse_address(request.target));
    return dropped_.place(drop, index, request.bytes);
  } catch (const std::exception& error) {
    refusal = problem(422, problem_text(error));
    return std::nullopt;
  }
}

std::optional<WebAnswer> Desk::import_later(const Json& request, Reply* reply) {
  try {
    if (!reply) return json_answer({{"drop", dropped_.open(request.value("files", Json()))}});
    if (!request.contains("drop") || !request["drop"].is_string()) throw std::invalid_argument("drop is missing; name it");
    dropped_.import(request["drop"].get<std::string>(), [answer = *reply](const Json& made) {
      constexpr unsigned fine = 200, wrong = 422;
      answer(json_answer(made, made.contains("problem") ? wrong : fine));
    });
    return std::nullopt;
  } catch (const std::exception& error) {
    return problem(422, problem_text(error));
  }
}

bool Desk::newer_waits() const {
  const std::lock_guard lock(mutex_);
  return ends_ || next_.has_value();
}

void Desk::preview_later(Json request, Reply reply) {
  std::optional<Job> job = Job{std::move(request), std::move(reply)};
  {
    const std::lock_guard lock(mutex_);
    std::swap(job, next_);
  }
  waiting_.notify_all();
  if (job) job->reply(problem(409, "a newer request came"));
}

void Desk::work_on_previews() {
  while (true) {
    std::optional<Job> job;
    {
      std::unique_lock lock(mutex_);
      waiting_.wait(lock, [&] { return ends_ || next_; });
      if (ends_) return;
      std::swap(job, next_);
    }
    WebAnswer answer;
    try {
      answer = preview_answer(job->request);
    } catch (const ScenarioErrors& errors) {
      answer = problem(422, errors.problems.front().about());
    } catch (const std::exception& wrong) {
      answer = problem(422, problem_text(wrong));
    }
    job->reply(std::move(answer));
  }
}

Desk::Asked Desk::read(const Json& request) const {
  if (!request.contains("scenario") || !request["scenario"].is_string()) throw std::invalid_argument("scenario is missing; name a file");
  const std::string path = request["scenario"].get<std::string>();
  const std::optional<fs::path> file = served_file(root_, path);
  if (!file || file->extension() != ".yaml") throw std::invalid_argument("there is no such scenario in this folder");
  return {path, changed_by(read_scenario(*file), request.value("settings", Json::object()))};
}

WebAnswer Desk::preview_answer(const Json& request) {
  const Asked asked = read(request);
  const std::optional<Json> seen = what_if_.answer(asked.path, asked.scenario, WhatIfPage::budget, [this] { return newer_waits(); });
  return seen ? json_answer(*seen) : problem(409, "a newer request came");
}

WebAnswer Desk::compare_ticked(const Json& request) const {
  try {
    return json_answer(compare_results(root_, request));
  } catch (const std::exception& wrong) {
    return problem(422, problem_text(wrong));
  }
}

WebAnswer Desk::start_math(const Json& request) {
  try {
    Asked asked = read(request);
    if (asked.scenario.as_it_is()) return problem(422, "nothing is changed yet; move a slider first");
    MathJob::Request job{std::move(asked.scenario.base), std::move(asked.scenario.changed), {}};
    const fs::path folder = (root_ / asked.path).parent_path();
    if (fs::path(asked.path).filename() == "scenario.yaml" && fs::exists(folder / "summary.json")) {
      const RunResult run = read_run_result(folder);
      if (run.with_math && run.outcome != Outcome::interrupted) job.base_folder = folder;
    }
    if (!math_.start(std::move(job))) return problem(409, "the math of another request is still running; cancel it, or wait");
  } catch (const ScenarioErrors& errors) {
    return problem(422, errors.problems.front().about());
  } catch (const std::exception& wrong) {
    return problem(422, problem_text(wrong));
  }
  return json_answer(math_.state());
}

}  // namespace straggler
