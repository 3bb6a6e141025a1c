// The equation of Einsum as loops.
#pragma once
#include <cctype>
#include <string_view>

#include "ops/elementwise.hpp"

namespace longshore::ops {

/// Labels are letters; the dims of an ellipsis are labels 52..59, counted from the right.
inline constexpr int einsum_labels = 60, einsum_operands = 16;

struct EinsumTerm {
  int labels[max_rank] = {};
  int rank = 0;
};

struct EinsumPlan {
  EinsumTerm in[einsum_operands], out;
  std::size_t operands = 0;
  int used[einsum_labels] = {};  // how often a label occurs in the inputs
};

inline int einsum_label(char c) {
  return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/// One term without spaces. `ellipsis` comes in as the number of dims that it stands for.
inline bool einsum_term(std::string_view text, int ellipsis, EinsumTerm& term) {
  const auto push = [&](int label) {
    if (term.rank == max_rank || label < 0) return false;
    term.labels[term.rank++] = label;
    return true;
  };
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      for (int k = ellipsis; k-- > 0;)
        if (!push(52 + k)) return false;
      i += 2;
    } else if (!push(einsum_label(text[i]))) {
      return false;
    }
  }
  return true;
}

/// False where the equation is malformed or does not fit these ranks.
inline bool plan_einsum(std::string_view equation, std::span<const int> ranks, EinsumPlan& p) {
  const std::size_t arrow = equation.find("->");
  std::string_view inputs = equation.substr(0, arrow);
  p.operands = ranks.size();
  if (p.operands == 0 || p.operands > static_cast<std::size_t>(einsum_operands)) return false;
  int widest = 0;
  for (std::size_t i = 0; i < p.operands; i++) {
    const std::size_t comma = inputs.find(',');
    const bool last = i + 1 == p.operands;
    if (last != (comma == std::string_view::npos)) return false;
    const std::string_view text = inputs.substr(0, comma);
    if (!last) inputs.remove_prefix(comma + 1);
    int letters = 0;
    for (char c : text) letters += einsum_label(c) >= 0;
    const bool has_ellipsis = text.find("...") != std::string_view::npos;
    const int hidden = ranks[i] - letters;
    if (hidden < 0 || hidden > max_rank || (!has_ellipsis && hidden != 0) ||
        !einsum_term(text, hidden, p.in[i]))
      return false;
    if (has_ellipsis) widest = std::max(widest, hidden);
    for (int k = 0; k < p.in[i].rank; k++) p.used[p.in[i].labels[k]]++;
  }
  if (arrow != std::string_view::npos) {
    if (!einsum_term(equation.substr(arrow + 2), widest, p.out)) return false;
    bool seen[einsum_labels] = {};
    for (int k = 0; k < p.out.rank; k++) {
      const int label = p.out.labels[k];
      if (seen[label] || (label < 52 && p.used[label] == 0)) return false;
      seen[label] = true;
    }
    return true;
  }
  // Without an output: the ellipsis, then the letters that occur once, in alphabetical order
  // (capitals first).
  std::string_view order = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  if (!einsum_term("...", widest, p.out)) return false;
  for (char c : order)
    if (p.used[einsum_label(c)] == 1 && !einsum_term(std::string_view(&c, 1), 0, p.out))
      return false;
  return true;
}

}  // namespace longshore::ops
