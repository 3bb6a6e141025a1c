#include "program/instructions/eltwise.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "sim/execution.hpp"
#include "tensor/requantise.hpp"
#include "tensor/visit.hpp"

namespace longshore::executions {
namespace {

using Codes = TypeList<std::int8_t, std::int16_t>;

/// Codes of one operand as the numbers that they stand for.
class Reader {
 public:
  Reader(const Tile& tile, std::uint32_t channel_stride, float scale, std::int32_t zero)
      : tile_(tile), step_(channel_stride), scale_(scale), zero_(zero) {
    if (tile.dtype != DType::i8) return;
    for (int q = -128; q < 128; q++)
      values_[static_cast<std::size_t>(q + 128)] = dequantise(q, scale, zero);
  }

  void read(const std::byte* sram, std::uint64_t y, std::uint64_t x, std::span<float> to) const {
    const std::byte* from = pixel(sram, tile_, y, x);
    visit_type(Codes{}, tile_.dtype, [&]<class T>() {
      for (std::size_t c = 0; c < to.size(); c++) {
        T code;
        std::memcpy(&code, from + c * step_ * sizeof(T), sizeof(T));
        if constexpr (sizeof(T) == 1)
          to[c] = values_[static_cast<std::size_t>(code + 128)];
        else
          to[c] = dequantise(code, scale_, zero_);
      }
    });
  }

 private:
  const Tile& tile_;
  std::size_t step_;
  float scale_;
  std::int32_t zero_;
  std::array<float, 256> values_;  // of i8
};

void write(const Eltwise& o, std::span<const float> from, std::byte* to) {
  visit_type(Codes{}, o.out.dtype, [&]<class T>() {
    for (std::size_t c = 0; c < from.size(); c++) {
      const auto code =
          static_cast<T>(quantise(from[c], o.out_scale, o.out_zero, o.lowest, o.highest));
      std::memcpy(to + c * sizeof(T), &code, sizeof(T));
    }
  });
}

template <class F>
void run(const Eltwise& o, std::byte* sram, F&& function) {
  const Reader a(o.a, o.a_channel_stride, o.a_scale, o.a_zero),
      b(o.b, o.b_channel_stride, o.b_scale, o.b_zero);
  std::vector<float> x(o.channels), y(o.channels);
  for (std::uint64_t row = 0; row < o.height; row++)
    for (std::uint64_t column = 0; column < o.width; column++) {
      a.read(sram, row, column, x);
      b.read(sram, row, column, y);
      for (std::size_t c = 0; c < x.size(); c++) x[c] = function(x[c], y[c]);
      write(o, x, pixel(sram, o.out, row, column));
    }
}

Status execute(const Eltwise& o, Execution& on) {
  switch (o.function) {
    case Eltwise::Function::add:
      run(o, on.sram, [](float a, float b) { return a + b; });
      break;
    case Eltwise::Function::subtract:
      run(o, on.sram, [](float a, float b) { return a - b; });
      break;
    case Eltwise::Function::multiply:
      run(o, on.sram, [](float a, float b) { return a * b; });
      break;
  }
  return {};
}

double cycles(const Eltwise& o, const Machine& m) {
  const bool multiply = o.function == Eltwise::Function::multiply;
  const std::size_t lanes = std::max({lanes_of(o.a), lanes_of(o.b), lanes_of(o.out)});
  return vector_cycles(m, multiply ? vector_unit::multiply : vector_unit::add,
                       std::uint64_t{o.height} * o.width * o.channels * lanes);
}

}  // namespace

extern constinit const ExecutionDef execution_eltwise = {
    .instruction = &Eltwise::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
