#include "scenarios/import/chrome_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "scenarios/import/json_stream.hpp"

namespace straggler::import_chrome {
namespace {

using Parser = nlohmann::json;

constexpr std::size_t deepest = 64;
constexpr double most_elements = 1e12, most_ranks = 1e6, longest = 1e17;  // longest: microseconds, 3000 years

enum class Field {
  none,
  name,
  category,
  phase,
  begin,
  length,
  process,
  thread,
  arguments,  // of an event
  correlation,
  collective,
  elements,
  group,
  type,
  shape,
  shape_type,  // of its arguments
  events,
  distributed,
  devices,
  base,
  rank,
  world,
  library,
  backend,
  device_name  // of the file
};
struct Key {
  std::string_view text;
  Field field;
};
constexpr std::array of_event = {Key{"name", Field::name},  Key{"cat", Field::category},  Key{"ph", Field::phase},
                                 Key{"ts", Field::begin},   Key{"dur", Field::length},    Key{"pid", Field::process},
                                 Key{"tid", Field::thread}, Key{"args", Field::arguments}};
constexpr std::array of_arguments = {Key{"correlation", Field::correlation},
                                     Key{"Collective name", Field::collective},
                                     Key{"In msg nelems", Field::elements},
                                     Key{"Group size", Field::group},
                                     Key{"dtype", Field::type},
                                     Key{"Input Dims", Field::shape},
                                     Key{"Input type", Field::shape_type},
                                     Key{"cbid_corr", Field::correlation}};
constexpr std::array of_file = {Key{"traceEvents", Field::events}, Key{"distributedInfo", Field::distributed},
                                Key{"deviceProperties", Field::devices}, Key{"baseTimeNanoseconds", Field::base}};
constexpr std::array of_distributed = {Key{"rank", Field::rank}, Key{"world_size", Field::world}, Key{"nccl_version", Field::library},
                                       Key{"backend", Field::backend}};
constexpr std::array of_device = {Key{"name", Field::device_name}};

template <class Keys>
Field field_of(const Keys& keys, std::string_view text) {
  for (const Key& key : keys)
    if (key.text == text) return key.field;
  return Field::none;
}

/// What nlohmann's parser calls.
class Events {
 public:
  Events(JsonStream& bytes, const std::function<void(ChromeEvent&)>& seen) : bytes_(bytes), seen_(seen) {}

  bool null() { return true; }
  bool boolean(bool /*value*/) { return true; }
  bool number_integer(Parser::number_integer_t number) { return take(static_cast<double>(number)); }
  bool number_unsigned(Parser::number_unsigned_t number) { return take(static_cast<double>(number)); }
  bool number_float(double number, const std::string& /*text*/) { return take(number); }
  bool binary(Parser::binary_t& /*bytes*/) { return true; }
  bool string(std::string& text) {
    switch (field_) {
      case Field::name:
        event_.name.swap(text);
        break;
      case Field::category:
        event_.category.swap(text);
        break;
      case Field::phase:
        span_ = text == "X";
        break;
      case Field::process:
        process_ = std::hash<std::string>()(text);
        break;
      case Field::thread:
        thread_ = std::hash<std::string>()(text);
        break;
      case Field::collective:
        event_.collective.swap(text);
        break;
      case Field::type:
        event_.element_type.swap(text);
        break;
      case Field::library:
        header_.library.swap(text);
        break;
      case Field::backend:
        header_.backend.swap(text);
        break;
      case Field::device_name:
        if (header_.device.empty()) header_.device.swap(text);
        break;
      case Field::shape_type:
        if (depth_ == in_event() + 2 && shape_type_.empty()) shape_type_.swap(text);
        break;
      default:
        break;
    }
    return true;
  }
  bool key(std::string& text) {
    if (in_events_)
      field_ = depth_ == in_event()                        ? field_of(of_event, text)
               : depth_ == in_event() + 1 && in_arguments_ ? field_of(of_arguments, text)
                                                           : Field::none;
    else if (depth_ == 1)
      section_ = field_ = field_of(of_file, text);
    else if (depth_ == 2 && section_ == Field::distributed)
      field_ = field_of(of_distributed, text);
    else
      field_ = depth_ == 3 && section_ == Field::devices ? field_of(of_device, text) : Field::none;
    return true;
  }
  bool start_object(std::size_t /*size*/) {
    if (!open()) return false;
    if (in_events_ && depth_ == in_event()) begin_event();
    if (in_events_ && depth_ == in_event() + 1) in_arguments_ = field_ == Field::arguments;
    return true;
  }
  bool end_object() {
    if (in_events_ && depth_ == in_event()) end_event();
    if (in_events_ && depth_ == in_event() + 1) in_arguments_ = false;
    return close();
  }
  bool start_array(std::size_t /*size*/) {
    if (!open()) return false;
    if (depth_ == 1) list_ = in_events_ = true;
    if (depth_ == 2 && !list_ && section_ == Field::events) in_events_ = true;
    if (field_ == Field::shape && depth_ > in_event() + 3 && !shape_done_) shape_of_lists_ = true;
    return true;
  }
  bool end_array() {
    if (in_events_ && !list_ && depth_ == 2) in_events_ = false;
    if (field_ == Field::shape && depth_ == in_event() + 3) shape_done_ = true;
    return close();
  }
  bool parse_error(std::size_t at, const std::string&, const Parser::exception&) {
    error_at_ = at;
    return false;
  }

  ChromeHeader& header() { return header_; }
  bool too_deep() const { return too_deep_; }
  std::size_t error_at() const { return error_at_; }
  std::uint64_t count() const { return count_; }
  bool found_events() const { return found_events_; }

 private:
  std::size_t in_event() const { return list_ ? 2 : 3; }
  bool open() {
    bytes_.bracket();
    too_deep_ = ++depth_ > deepest;
    return !too_deep_;
  }
  bool close() {
    bytes_.bracket();
    --depth_;
    return true;
  }
  bool take(double number) {
    switch (field_) {
      case Field::begin:
        begin_ = number;
        break;
      case Field::length:
        length_ = number;
        break;
      case Field::process:
        process_ = std::hash<double>()(number);
        break;
      case Field::thread:
        thread_ = std::hash<double>()(number);
        break;
      case Field::correlation:
        if (std::abs(number) < 9e15) event_.correlation = static_cast<std::int64_t>(number);
        break;
      case Field::elements:
        if (number >= 0 && number <= most_elements) event_.elements = number;
        break;
      case Field::group:
        if (number >= 1 && number <= most_ranks) event_.group = number;
        break;
      case Field::shape:
        if (depth_ == in_event() + 3 && !shape_done_) shape_ = shape_.value_or(1) * number;
        break;
      case Field::base:
        if (std::abs(number) <= 1e3 * longest) header_.base = number * 1e-3;
        break;
      case Field::rank:
        if (number >= 0 && number < most_ranks) header_.rank = static_cast<std::int64_t>(number);
        break;
      case Field::world:
        if (number >= 1 && number <= most_ranks) header_.world = static_cast<std::int64_t>(number);
        break;
      default:
        break;
    }
    return true;
  }

  void begin_event() {
    event_ = {};
    begin_.reset();
    length_.reset();
    shape_.reset();
    shape_type_.clear();
    span_ = shape_done_ = shape_of_lists_ = false;
    process_ = thread_ = 0;
    field_ = Field::none;
    ++count_;
    found_events_ = true;
  }
  void end_event() {
    if (!span_ || !begin_ || !length_ || !(*length_ >= 0 && *length_ <= longest) || !(std::abs(*begin_) <= longest)) return;
    event_.begin = *begin_;
    event_.end = *begin_ + *length_;
    event_.thread = process_ * 1000003 + thread_;
    if (!event_.elements && shape_ && !shape_of_lists_ && *shape_ >= 0 && *shape_ <= most_elements) {
      event_.elements = shape_;
      event_.element_type = std::move(shape_type_);
    }
    seen_(event_);
  }

  JsonStream& bytes_;
  const std::function<void(ChromeEvent&)>& seen_;
  ChromeHeader header_;
  ChromeEvent event_;
  std::optional<double> begin_, length_, shape_;
  std::string shape_type_;
  std::uint64_t process_ = 0, thread_ = 0, count_ = 0;
  std::size_t depth_ = 0, error_at_ = 0;
  Field field_ = Field::none, section_ = Field::none;
  bool list_ = false, in_events_ = false, in_arguments_ = false, span_ = false, shape_done_ = false, shape_of_lists_ = false;
  bool too_deep_ = false, found_events_ = false;
};

}  // namespace
}  // namespace straggler::import_chrome

namespace straggler {

ChromeHeader read_chrome_trace(const GivenFile& file, const std::function<void(ChromeEvent& event)>& seen) {
  JsonStream bytes(file);
  import_chrome::Events events(bytes, seen);
  const auto refuse = [&](const std::string& what) { throw DataError(file.shown().string() + ": " + what); };
  if (!nlohmann::json::sax_parse(JsonBytes{&bytes}, JsonBytes{}, &events)) {
    if (events.too_deep()) refuse("nests lists and maps deeper than any trace; get the original file");
    refuse(bytes.ended() ? fmt::format("is a trace that ends inside event {}; get the whole file", events.count())
                         : fmt::format("is a trace that is no JSON at byte {} (in event {}); get an undamaged file", events.error_at(),
                                       events.count()));
  }
  if (!events.found_events()) refuse("is a trace without events; record at least three steps with the profiler");
  return std::move(events.header());
}

}  // namespace straggler
