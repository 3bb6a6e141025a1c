#pragma once
#include <vector>

#include "cpu/bind.hpp"
#include "cpu/gemm_i8.inner.hpp"
#include "cpu/requantise.inner.hpp"

namespace longshore::cpu {

/// int32 sums to codes by channel, in any rounding mode: what comes after an integer product.
struct Epilogue {
  std::vector<Multiplier> multipliers;  // by output channel
  std::vector<float> reals;
  std::vector<std::int32_t> adds;  // bias, and what the activations' offset adds to the sum
  std::int32_t zero_point = 0, lowest = 0, highest = 0;
  Rounding mode = Rounding::f32_even;

  /// All sums belong to one channel.
  void row(const Requantise&, const std::int32_t* sums, std::int64_t channel, std::int64_t n,
           void* codes) const noexcept;
  /// Sum i belongs to channel + i.
  void across(const Requantise&, const std::int32_t* sums, std::int64_t channel, std::int64_t n,
              void* codes) const noexcept;
};

/// Fills the epilogue from the operands of a quantised conv or gemm: x and w are their activations
/// and weights, channel m of w having scale m (or all the same). False where types, scales, bias or
/// activation are others than the integer formula of docs/numbers.md takes.
bool make_epilogue(const BindRequest&, std::int64_t channels, int weight_axis, Epilogue&);

/// The sum of each channel's weights, modulo 2^32: packed with them. weight(m, k) is a code.
template <class Weight>
void sum_weights(std::int64_t channels, std::int64_t depth, Weight&& weight, std::int32_t* sums) {
  for (std::int64_t m = 0; m < channels; m++) {
    std::uint32_t sum = 0;
    for (std::int64_t k = 0; k < depth; k++)
      sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(weight(m, k)));
    sums[m] = static_cast<std::int32_t>(sum);
  }
}

/// adds[m] -= offset * sums[m], modulo 2^32.
inline void fold_offset(Epilogue& e, std::int64_t channels, std::int32_t offset,
                        const std::int32_t* sums) {
  for (std::int64_t m = 0; m < channels; m++) {
    auto& add = e.adds[static_cast<std::size_t>(m)];
    add = static_cast<std::int32_t>(static_cast<std::uint32_t>(add) -
                                    static_cast<std::uint32_t>(offset) *
                                        static_cast<std::uint32_t>(sums[m]));
  }
}

/// Weights in the groups of the inner loops.
inline std::int64_t group_size(const GemmI8& f) { return 4 / f.bytes; }
inline std::int64_t groups_of(const GemmI8& f, std::int64_t depth) {
  return (depth + group_size(f) - 1) / group_size(f);
}
/// Puts weight `code` at place k of a group.
inline void put_weight(const GemmI8& f, std::int32_t& group, std::int64_t k, std::int32_t code) {
  const auto shift = static_cast<std::uint32_t>(8 * f.bytes * static_cast<int>(k));
  const std::uint32_t mask = f.bytes == 1 ? 0xffu : 0xffffu;
  group = static_cast<std::int32_t>((static_cast<std::uint32_t>(group) & ~(mask << shift)) |
                                    ((static_cast<std::uint32_t>(code) & mask) << shift));
}

/// How activation codes become what the inner loops multiply: bytes xor `flip`, or words less
/// `zero`.
struct ActivationForm {
  bool is_signed = true;
  std::uint8_t flip = 0;     // groups of bytes
  std::int32_t offset = 0;   // byte value - true value (code - zero point)
  std::int16_t zero = 0;     // groups of words
  std::uint8_t padding = 0;  // the code of zero
};
ActivationForm activation_form(const GemmI8&, const Operand& x);

/// `rows` (group_size of them) of n codes into n groups at `to`.
inline void interleave(const GemmI8& f, const ActivationForm& form, const std::uint8_t* const* rows,
                       std::int32_t* to, std::int64_t n) {
  if (f.bytes == 1)
    f.interleave_bytes(rows, form.flip, reinterpret_cast<std::uint8_t*>(to),
                       static_cast<std::size_t>(n));
  else
    f.interleave_words(rows, form.is_signed, form.zero, reinterpret_cast<std::int16_t*>(to),
                       static_cast<std::size_t>(n));
}

}  // namespace longshore::cpu
