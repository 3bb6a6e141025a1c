#include "ending.hpp"

#include <new>

#include "base/error.hpp"

namespace longshore {

Ending ending_of(const std::exception& e) {
  using namespace exit_code;
  if (const auto* ours = dynamic_cast<const Error*>(&e))
    return {ours->code() == Code::internal ? our_bug : bad_input, e.what()};
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) return {bad_input, "out of memory"};
  return {our_bug, std::string("this is a bug: ") + e.what()};
}

std::string complaint(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return "longshore: " + text;
}

}  // namespace longshore
