#include "models/formats/seems.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sim/base/shown_text.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

struct Beginning {
  std::string_view bytes;
  const char* is;
};
/// Files that begin with bytes of their own.
constexpr std::array beginnings = {
    Beginning{"\x89PNG", "is an image (PNG)"},
    Beginning{"\xFF\xD8\xFF", "is an image (JPEG)"},
    Beginning{"GIF8", "is an image (GIF)"},
    Beginning{"%PDF", "is a PDF"},
    Beginning{"\x7F"
              "ELF",
              "is a program"},
    Beginning{"SQLite format 3", "is an SQLite database"},
    Beginning{"\x89HDF", "is an HDF5 file, as Keras writes it; print torchinfo's summary, or export the model to ONNX"},
    Beginning{
        "PAR1",
        "is a Parquet file; write it as CSV: python3 -c \"import pandas; pandas.read_parquet('FILE').to_csv('FILE.csv', index=False)\""},
    Beginning{"\x28\xB5\x2F\xFD", "is packed by zstd; unpack it"},
    Beginning{"\xFD"
              "7zXZ",
              "is packed by xz; unpack it"},
    Beginning{"BZh", "is packed by bzip2; unpack it"},
    Beginning{"PK", "is a zip archive; unpack it (of torch.save: write the state_dict with safetensors.torch.save_file)"},
    Beginning{"\x80\x02", "is a pickle, as old versions of torch.save write it; write the state_dict with safetensors.torch.save_file"},
    Beginning{"\x80\x04", "is a pickle; write the state_dict with safetensors.torch.save_file"},
    Beginning{"GGUF", "is a GGUF file; give the model's config.json"}};

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// {"traceEvents": []}
bool has_no_events(std::string_view text) {
  constexpr std::string_view key = "\"traceEvents\"";
  const std::size_t at = text.find(key);
  std::string next;
  for (std::size_t i = at; at != std::string_view::npos && next.size() < 3 && i + key.size() < text.size(); ++i)
    if (const char c = text[i + key.size()]; c != ' ' && c != '\n' && c != '\r' && c != '\t') next += c;
  return next == ":[]";
}

std::string json_seems(std::string_view text) {
  if (has_any(text, {"\"schema\"", "\"NodeType\""}) && has_any(text, {"\"nodes\"", "\"ctrlDeps\"", "\"ctrl_deps\""}))
    return "is an execution trace (PyTorch or Chakra)";
  if (!has_any(text, {"\"traceEvents\"", "\"ph\""}))
    return "is JSON, but no trace (`traceEvents`), no config (`model_type`) and no index of weights (`weight_map`)";
  if (has_no_events(text)) return "is a trace without events; record at least three steps with the profiler";
  if (has_any(text, {"CrBrowserMain", "CrRendererMain", "\"toplevel\"", "devtools.timeline"})) return "is a Chrome trace of a browser";
  if (has_any(text, {"\"deviceProperties\"", "cuda_runtime", "\"cpu_op\"", "ProfilerStep#"})) return "is a trace of PyTorch's profiler";
  return "is a Chrome trace";
}

/// Eight bytes that are the length of a header, more than there is, and its begin.
bool is_cut_safetensors(const FileStart& start) {
  if (start.bytes.size() < 10 || start.bytes[8] != '{' || start.bytes[9] != '"') return false;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(start.bytes[i]);
  return length > start.size - 8 && length <= 100'000'000;
}

/// A scenario, a sweep or a claim: its first line that is neither blank nor a comment.
bool is_of_this_program(std::string_view text) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (!trimmed(line).empty() && !line.starts_with('#'))
      return std::ranges::any_of(std::array{"straggler:", "sweep:", "claim:"}, [line](const char* key) { return line.starts_with(key); });
  return false;
}

/// The first line that is not blank.
std::string_view first_words_of(std::string_view text) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (!trimmed(line).empty()) return trimmed(line);
  return {};
}

}  // namespace

std::string what_it_seems(const FileStart& start) {
  for (const Beginning& each : beginnings)
    if (start.bytes.starts_with(each.bytes)) return each.is;
  const std::string_view text = trimmed(start.bytes);
  if (text.empty()) return "is empty";
  if (text.front() == '{' || text.front() == '[') return json_seems(text);
  if (text.front() == '<')
    return has_any(text.substr(0, 1000), {"<html", "<HTML", "<!DOCTYPE html", "<!doctype html"}) ? "is a web page" : "is XML";
  if (is_cut_safetensors(start)) return "is a safetensors file that ends within its header; get at least its whole header";
  if (text.find('\0') != std::string_view::npos) return "is binary, in a format that is not known here";
  if (is_of_this_program(text)) return "is a file of straggler itself; straggler check explains a scenario";
  if (has_any(text, {":::MLLOG"})) return "is a log of MLPerf";
  if (has_any(text, {"# nThread", "# OSU MPI", "busbw"})) return "is the output of a benchmark of messages; straggler calibrate reads it";
  return "is text that begins with '" + shown_text(shortened(first_words_of(text), 60)) + "'";
}

}  // namespace straggler
