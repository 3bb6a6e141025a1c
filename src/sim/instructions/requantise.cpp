#include "program/instructions/requantise.hpp"

#include "sim/codes.hpp"
#include "sim/execution.hpp"
#include "tensor/requantise.hpp"

namespace longshore::executions {
namespace {

/// Where one side has 16 bits: element by element.
template <class From, class To>
void run(const Requantise& o, std::byte* sram) {
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const std::byte* in = pixel(sram, o.in, y, x);
      std::byte* out = pixel(sram, o.out, y, x);
      for (std::size_t c = 0; c < o.channels; c++)
        put_code<To>(out, c,
                     quantise(dequantise(code_at<From>(in, c), o.in_scale, o.in_zero), o.out_scale,
                              o.out_zero, o.lowest, o.highest));
    }
}

Status execute(const Requantise& o, Execution& on) {
  if (o.in.dtype != DType::i8 || o.out.dtype != DType::i8) {
    visit_type(CodeTypes{}, o.in.dtype, [&]<class From>() {
      visit_type(CodeTypes{}, o.out.dtype, [&]<class To>() { run<From, To>(o, on.sram); });
    });
    return {};
  }
  std::int8_t entries[256];
  for (int q = -128; q < 128; q++)
    entries[q + 128] = static_cast<std::int8_t>(quantise(
        dequantise(q, o.in_scale, o.in_zero), o.out_scale, o.out_zero, o.lowest, o.highest));
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const auto* in = reinterpret_cast<const std::int8_t*>(pixel(on.sram, o.in, y, x));
      auto* out = reinterpret_cast<std::int8_t*>(pixel(on.sram, o.out, y, x));
      for (std::uint32_t c = 0; c < o.channels; c++) out[c] = entries[in[c] + 128];
    }
  return {};
}

double cycles(const Requantise& o, const Machine& m) {
  return vector_cycles(m, vector_unit::requantise, elements_of(o));
}

}  // namespace

extern constinit const ExecutionDef execution_requantise = {
    .instruction = &Requantise::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
