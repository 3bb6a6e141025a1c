#include "cpu/bind.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace longshore::cpu {
namespace {

constexpr const char* isa_names[isa_count] = {"generic", "avx2", "avx512", "avx512vnni"};

Isa detect() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::generic;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 29))) return Isa::generic;  // f16c
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return Isa::avx2;
  return __builtin_cpu_supports("avx512vnni") ? Isa::avx512vnni : Isa::avx512;
#else
  return Isa::generic;
#endif
}

bool same_operator(std::string_view qualified, std::string_view domain, std::string_view name) {
  if (domain.empty() || domain == "ai.onnx") return qualified == name;
  return qualified.size() == domain.size() + 1 + name.size() && qualified.starts_with(domain) &&
         qualified[domain.size()] == '.' && qualified.ends_with(name);
}

}  // namespace

bool has_isa(Isa isa) noexcept {
  static const Isa best = detect();
  return isa <= best;
}

Isa best_isa() noexcept {
  static const Isa best = [] {
    const char* wanted = std::getenv("LONGSHORE_CPU");
    for (int i = 0; wanted && i < isa_count; i++)
      if (std::string_view(isa_names[i]) == wanted) return std::min(static_cast<Isa>(i), detect());
    return detect();
  }();
  return best;
}

const char* name(Isa isa) noexcept { return isa_names[static_cast<int>(isa)]; }

const void* find_inner(std::string_view family, Isa isa) noexcept {
  const Inner* best = nullptr;
  for (const Inner* each : inners::all())
    if (family == each->family && each->isa <= isa && (!best || each->isa > best->isa)) best = each;
  return best ? best->functions : nullptr;
}

bool BindRequest::fixed() const {
  const auto known = [](const Operand& o) { return !o.present() || o.fixed_shape; };
  return std::all_of(inputs.begin(), inputs.end(), known) &&
         std::all_of(outputs.begin(), outputs.end(), known);
}

bool BindRequest::all_f32() const {
  const auto f32 = [](const Operand& o) {
    return !o.present() || (o.dtype == DType::f32 && !o.quantised());
  };
  return std::all_of(inputs.begin(), inputs.end(), f32) &&
         std::all_of(outputs.begin(), outputs.end(), f32);
}

std::unique_ptr<BoundKernel> bind(const BindRequest& request) {
  for (const Kernel* kernel : kernels::all())
    for (std::string_view op : kernel->operators)
      if (same_operator(op, request.domain, request.name))
        if (std::unique_ptr<BoundKernel> bound = kernel->bind(request)) return bound;
  return nullptr;
}

}  // namespace longshore::cpu
