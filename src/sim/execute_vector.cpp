#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "sim/execute.hpp"

namespace longshore {
namespace {

using Bytes = std::int8_t*;

std::int8_t* row(Bytes sram, const Tile& t, std::uint64_t y) {
  return sram + t.address + y * t.row_stride;
}

void table(const Table& o, Bytes sram) {
  std::int8_t entries[256];
  std::memcpy(entries, sram + o.table, 256);
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const std::int8_t* in = row(sram, o.in, y) + x * o.in.pixel_stride;
      std::int8_t* out = row(sram, o.out, y) + x * o.out.pixel_stride;
      for (std::uint32_t c = 0; c < o.channels; c++) out[c] = entries[in[c] + 128];
    }
}

void requantise_copy(const Requantise& o, Bytes sram) {
  std::int8_t entries[256];
  for (int q = -128; q < 128; q++)
    entries[q + 128] = static_cast<std::int8_t>(quantise(
        dequantise(q, o.in_scale, o.in_zero), o.out_scale, o.out_zero, o.lowest, o.highest));
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const std::int8_t* in = row(sram, o.in, y) + x * o.in.pixel_stride;
      std::int8_t* out = row(sram, o.out, y) + x * o.out.pixel_stride;
      for (std::uint32_t c = 0; c < o.channels; c++) out[c] = entries[in[c] + 128];
    }
}

std::array<float, 256> values(float scale, std::int32_t zero) {
  std::array<float, 256> out;
  for (int q = -128; q < 128; q++)
    out[static_cast<std::size_t>(q + 128)] = dequantise(q, scale, zero);
  return out;
}

void eltwise(const Eltwise& o, Bytes sram) {
  const std::array<float, 256> a_values = values(o.a_scale, o.a_zero),
                               b_values = values(o.b_scale, o.b_zero);
  const auto run = [&](auto function) {
    for (std::uint64_t y = 0; y < o.height; y++)
      for (std::uint64_t x = 0; x < o.width; x++) {
        const std::int8_t* a = row(sram, o.a, y) + x * o.a.pixel_stride;
        const std::int8_t* b = row(sram, o.b, y) + x * o.b.pixel_stride;
        std::int8_t* out = row(sram, o.out, y) + x * o.out.pixel_stride;
        for (std::uint64_t c = 0; c < o.channels; c++) {
          const float va = a_values[static_cast<std::size_t>(a[c * o.a_channel_stride] + 128)];
          const float vb = b_values[static_cast<std::size_t>(b[c * o.b_channel_stride] + 128)];
          out[c] = static_cast<std::int8_t>(
              quantise(function(va, vb), o.out_scale, o.out_zero, o.lowest, o.highest));
        }
      }
  };
  switch (o.function) {
    case Eltwise::Function::add:
      run([](float a, float b) { return a + b; });
      break;
    case Eltwise::Function::subtract:
      run([](float a, float b) { return a - b; });
      break;
    case Eltwise::Function::multiply:
      run([](float a, float b) { return a * b; });
      break;
  }
}

/// Taps of a window that begins at `start` (may be negative) inside [lowest, highest).
struct Taps {
  std::uint32_t first, end;
  std::uint32_t count() const { return end - first; }
};

Taps inside(std::int64_t start, std::int64_t kernel, std::int64_t dilation, std::int64_t lowest,
            std::int64_t highest) {
  Taps taps{0, 0};
  while (taps.first < kernel && start + taps.first * dilation < lowest) taps.first++;
  taps.end = taps.first;
  while (taps.end < kernel && start + taps.end * dilation < highest) taps.end++;
  return taps;
}

/// The multiplier of a mean; an error where scales far apart leave the range of float32.
Status mean_multiplier(float in_scale, float out_scale, std::uint64_t count, Multiplier& m) {
  m = make_multiplier(in_scale, 1.0f, out_scale * static_cast<float>(count));
  if (std::isfinite(m.real)) return {};
  return Status::error(Code::bad_model, "the scales %g and %g are too far apart",
                       static_cast<double>(in_scale), static_cast<double>(out_scale));
}

Status pool(const Pool& o, Bytes sram) {
  std::vector<std::int32_t> sums(o.channels);
  for (std::uint32_t y = 0; y < o.out_h; y++) {
    const std::int64_t top = std::int64_t{y} * o.stride_h - o.pad_top;
    const Taps rows = inside(top, o.kernel_h, o.dilation_h, 0, o.in_h);
    const Taps padded_rows = inside(top, o.kernel_h, o.dilation_h, -std::int64_t{o.pad_top},
                                    std::int64_t{o.in_h} + o.pad_bottom);
    for (std::uint32_t x = 0; x < o.out_w; x++) {
      const std::int64_t left = std::int64_t{x} * o.stride_w - o.pad_left;
      const Taps columns = inside(left, o.kernel_w, o.dilation_w, 0, o.in_w);
      const bool max = o.function == Pool::Function::max;
      std::fill(sums.begin(), sums.end(), max ? -128 : 0);
      for (std::uint32_t i = rows.first; i < rows.end; i++)
        for (std::uint32_t j = columns.first; j < columns.end; j++) {
          const auto in_y = static_cast<std::uint64_t>(top + std::int64_t{i} * o.dilation_h);
          const auto in_x = static_cast<std::uint64_t>(left + std::int64_t{j} * o.dilation_w);
          const std::int8_t* in = row(sram, o.in, in_y) + in_x * o.in.pixel_stride;
          if (max)
            for (std::uint32_t c = 0; c < o.channels; c++)
              sums[c] = std::max<std::int32_t>(sums[c], in[c]);
          else
            for (std::uint32_t c = 0; c < o.channels; c++) sums[c] += in[c] - o.in_zero;
        }
      std::int8_t* out = row(sram, o.out, y) + std::uint64_t{x} * o.out.pixel_stride;
      if (max) {
        for (std::uint32_t c = 0; c < o.channels; c++)
          out[c] = static_cast<std::int8_t>(std::clamp(sums[c], o.lowest, o.highest));
        continue;
      }
      std::uint64_t count = std::uint64_t{rows.count()} * columns.count();
      if (o.count_include_pad) {
        const Taps padded_columns =
            inside(left, o.kernel_w, o.dilation_w, -std::int64_t{o.pad_left},
                   std::int64_t{o.in_w} + o.pad_right);
        count = std::uint64_t{padded_rows.count()} * padded_columns.count();
      }
      if (count == 0) count = 1;  // a window of padding alone: the sum is 0
      Multiplier m;
      LONGSHORE_TRY(mean_multiplier(o.in_scale, o.out_scale, count, m));
      for (std::uint32_t c = 0; c < o.channels; c++)
        out[c] = static_cast<std::int8_t>(
            requantise(sums[c], m, o.out_zero, o.lowest, o.highest, o.rounding));
    }
  }
  return {};
}

Status reduce(const Reduce& o, Bytes sram) {
  std::vector<std::uint32_t> sums(o.channels, 0);  // unsigned: wraps as hardware does
  if (o.accumulate) std::memcpy(sums.data(), sram + o.accumulators, std::size_t{o.channels} * 4);
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const std::int8_t* in = row(sram, o.in, y) + x * o.in.pixel_stride;
      for (std::uint32_t c = 0; c < o.channels; c++)
        sums[c] += static_cast<std::uint32_t>(in[c] - o.in_zero);
    }
  if (!o.finish) {
    std::memcpy(sram + o.accumulators, sums.data(), std::size_t{o.channels} * 4);
    return {};
  }
  Multiplier m;
  LONGSHORE_TRY(mean_multiplier(o.in_scale, o.out_scale, o.divisor, m));
  for (std::uint32_t c = 0; c < o.channels; c++)
    sram[o.out + c] = static_cast<std::int8_t>(requantise(
        static_cast<std::int32_t>(sums[c]), m, o.out_zero, o.lowest, o.highest, o.rounding));
  return {};
}

Status resize(const Resize& o, Bytes sram) {
  const auto source = [&](std::uint32_t i, std::uint32_t factor, std::uint32_t phase,
                          std::uint32_t entries) {
    if (factor > 0) return static_cast<std::uint32_t>((std::uint64_t{i} + phase) / factor);
    const auto* at = reinterpret_cast<const unsigned char*>(sram) + entries + std::uint64_t{i} * 2;
    return static_cast<std::uint32_t>(at[0] | at[1] << 8);
  };
  for (std::uint32_t y = 0; y < o.out_h; y++) {
    const std::uint32_t in_y = source(y, o.factor_h, o.phase_h, o.rows);
    if (in_y >= o.in_h)
      return Status::error(Code::bad_model, "resize: row table leads to row %u of %u", in_y,
                           o.in_h);
    for (std::uint32_t x = 0; x < o.out_w; x++) {
      const std::uint32_t in_x = source(x, o.factor_w, o.phase_w, o.columns);
      if (in_x >= o.in_w)
        return Status::error(Code::bad_model, "resize: column table leads to column %u of %u", in_x,
                             o.in_w);
      std::memcpy(row(sram, o.out, y) + std::uint64_t{x} * o.out.pixel_stride,
                  row(sram, o.in, in_y) + std::uint64_t{in_x} * o.in.pixel_stride, o.channels);
    }
  }
  return {};
}

}  // namespace

Status execute_vector(const Operation& operation, std::int8_t* sram) noexcept {
  if (const auto* o = std::get_if<Eltwise>(&operation))
    eltwise(*o, sram);
  else if (const auto* o = std::get_if<Table>(&operation))
    table(*o, sram);
  else if (const auto* o = std::get_if<Requantise>(&operation))
    requantise_copy(*o, sram);
  else if (const auto* o = std::get_if<Pool>(&operation))
    return pool(*o, sram);
  else if (const auto* o = std::get_if<Reduce>(&operation))
    return reduce(*o, sram);
  else if (const auto* o = std::get_if<Resize>(&operation))
    return resize(*o, sram);
  else
    return Status::error(Code::internal, "no such vector operation");
  return {};
}

}  // namespace longshore
