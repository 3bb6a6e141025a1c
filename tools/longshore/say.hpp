// How commands speak: warnings, JSON, numbers and names of one kind everywhere.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "json.hpp"

namespace longshore {

/// One line on stderr, remembered for warnings().
void warn(const std::string& text);
/// All that warn said: what goes into JSON.
const std::vector<std::string>& warnings();

/// Runs f; an Error that does not name the file gets its name in front.
template <class F>
void with_file(const std::string& path, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    if (path.empty() || std::string_view(e.what()).find(path) != std::string_view::npos) throw;
    fail(e.code(), path, ": ", e.what());
  }
}

/// One line on stdout. Bytes that are no UTF-8 are replaced; a number that is not finite is null.
void print_json(const Json&);

/// "17.481 ms".
std::string shown_ms(double);
/// "405.8 KiB", "12.3 MiB".
std::string shown_bytes(std::uint64_t);
/// "361 k", "6.12 M": with a unit that a person reads at a glance.
std::string shown_count(double);

/// The text in lines of at most 80 columns, broken after `at`. The first begins at column `first`,
/// the others at `indent`; a word that is longer stays whole.
std::string wrapped(std::string_view text, std::size_t first, std::size_t indent,
                    std::string_view at = " ");

/// At most `width` characters: the beginning and, more of it, the end, which tells names apart.
std::string short_name(const std::string&, std::size_t width);

}  // namespace longshore
