#include "program/instructions/eltwise.hpp"

#include <array>

#include "sim/execution.hpp"
#include "tensor/requantise.hpp"

namespace longshore::executions {
namespace {

std::array<float, 256> values(float scale, std::int32_t zero) {
  std::array<float, 256> out;
  for (int q = -128; q < 128; q++)
    out[static_cast<std::size_t>(q + 128)] = dequantise(q, scale, zero);
  return out;
}

Status execute(const Eltwise& o, Execution& on) {
  const std::array<float, 256> a_values = values(o.a_scale, o.a_zero),
                               b_values = values(o.b_scale, o.b_zero);
  const auto run = [&](auto function) {
    for (std::uint64_t y = 0; y < o.height; y++)
      for (std::uint64_t x = 0; x < o.width; x++) {
        const auto* a = reinterpret_cast<const std::int8_t*>(pixel(on.sram, o.a, y, x));
        const auto* b = reinterpret_cast<const std::int8_t*>(pixel(on.sram, o.b, y, x));
        auto* out = reinterpret_cast<std::int8_t*>(pixel(on.sram, o.out, y, x));
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
  return {};
}

double cycles(const Eltwise& o, const Machine& m) {
  const bool multiply = o.function == Eltwise::Function::multiply;
  return vector_cycles(m, multiply ? vector_unit::multiply : vector_unit::add,
                       std::uint64_t{o.height} * o.width * o.channels);
}

}  // namespace

extern constinit const ExecutionDef execution_eltwise = {
    .instruction = &Eltwise::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
