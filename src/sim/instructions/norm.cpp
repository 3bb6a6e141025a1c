#include "program/instructions/norm.hpp"

#include <cstring>

#include "sim/codes.hpp"
#include "sim/execution.hpp"
#include "tensor/norm_codes.hpp"

namespace longshore::executions {
namespace {

Status execute(const Norm& o, Execution& on) {
  std::vector<float> parameters(std::size_t{2} * o.channels);
  std::memcpy(parameters.data(), on.sram + o.parameters, parameters.size() * sizeof(float));
  const NormCodes n{o.in_scale,  o.in_zero,  o.epsilon, o.subtract_mean,
                    o.out_scale, o.out_zero, o.lowest,  o.highest};
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++)
      visit_type(CodeTypes{}, o.in.dtype, [&]<class In>() {
        visit_type(CodeTypes{}, o.out.dtype, [&]<class Out>() {
          norm_row(reinterpret_cast<const In*>(pixel(on.sram, o.in, y, x)),
                   reinterpret_cast<Out*>(pixel(on.sram, o.out, y, x)), o.channels,
                   parameters.data(), parameters.data() + o.channels, n);
        });
      });
  return {};
}

double cycles(const Norm& o, const Machine& m) {
  return vector_cycles(m, vector_unit::norm, elements_of(o));
}

}  // namespace

extern constinit const ExecutionDef execution_norm = {
    .instruction = &Norm::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
