// Comma-separated values (RFC 4180), and the same with other separators: a line cut into fields, and text written as a field.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// A field without the blanks around it and without its quotes; `column`: its first character, counted from 1.
struct CsvField {
  std::string_view text;
  std::size_t column = 1;
};

/// Cuts line after line, always in the same memory.
class CsvSplitter {
 public:
  /// ' ' means any number of blanks and tabs.
  explicit CsvSplitter(char separator = ',') : separator_(separator) {}

  /// A field in double quotes may hold separators, and "" for a quote; it ends on its line. False if a quote is wrong: see fault().
  bool split(std::string_view line);
  /// Of the line that was split last: views of it and of the splitter.
  const std::vector<CsvField>& fields() const { return fields_; }

  enum class Fault { open_quote, text_behind_quote };
  Fault fault() const { return fault_; }
  /// Where the quote opens, counted from 1.
  std::size_t fault_column() const { return fields_.back().column; }

 private:
  bool is_blank(char c) const { return c == ' ' || (c == '\t' && separator_ != '\t'); }
  bool is_separator(char c) const { return c == separator_ || (separator_ == ' ' && c == '\t'); }
  /// Takes a field in quotes into `field`; `at`, its first character, becomes its end. False if the quote is wrong.
  bool quoted(std::string_view line, std::size_t& at, CsvField& field);

  char separator_;
  std::vector<CsvField> fields_;
  std::string unquoted_;  // fields with quotes inside, one behind the other
  Fault fault_ = Fault::open_quote;
};

/// The whole field as a number; nothing if it is not one.
std::optional<double> as_number(std::string_view field);
std::optional<std::int64_t> as_integer(std::string_view field);

/// csv_text() would not change it.
bool plain_csv(std::string_view text);
/// A field, quoted only where it must be. A ' goes before text that a spreadsheet would take as a formula: text that begins with =, @, a
/// tab or a carriage return, or with + or - unless it is that sign alone, a number or a quantity such as "-20ms".
std::string csv_text(std::string_view text);

}  // namespace straggler
