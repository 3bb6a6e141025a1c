#include "base/text.hpp"

#include <cstdio>

namespace longshore {

void Part::append_to(std::string& out) const {
  char number[32];
  switch (kind_) {
    case Kind::text:
      out += text_;
      break;
    case Kind::character:
      out += static_cast<char>(integer_);
      break;
    case Kind::integer:
      out += std::to_string(integer_);
      break;
    case Kind::natural:
      out += std::to_string(natural_);
      break;
    case Kind::real:
      out.append(number, std::snprintf(number, sizeof number, "%g", real_));
      break;
  }
}

std::string joined(std::initializer_list<Part> parts) {
  std::string out;
  for (const Part& part : parts) part.append_to(out);
  return out;
}

}  // namespace longshore
