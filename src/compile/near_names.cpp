#include "compile/near_names.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace longshore::compile {
namespace {

char lower_case(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Letters to insert, drop or change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t k = 0; k <= b.size(); k++) row[k] = k;
  for (std::size_t i = 1; i <= a.size(); i++) {
    std::size_t before = row[0];
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); k++) {
      const std::size_t changed = before + (lower_case(a[i - 1]) != lower_case(b[k - 1]));
      before = row[k];
      row[k] = std::min({changed, row[k] + 1, row[k - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string near_names(std::string_view wanted, std::span<const std::string> names) {
  constexpr std::size_t longest = 200, most = 3;  // the distance is quadratic
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > longest || wanted.size() > longest) continue;
    const bool part = wanted.size() > 2 && name.find(wanted) != std::string::npos;
    const std::size_t d = part ? 1 : distance(wanted, name);
    if (d <= std::max<std::size_t>(1, wanted.size() / 3)) found.emplace_back(d, name);
  }
  std::ranges::stable_sort(found, {}, [](const auto& f) { return f.first; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::string out;
  for (std::size_t i = 0; i < std::min(found.size(), most); i++)
    out += (out.empty() ? "; near: '" : ", '") + std::string(found[i].second) + "'";
  return out;
}

}  // namespace longshore::compile
