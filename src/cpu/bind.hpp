#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "base/list.hpp"
#include "base/status.hpp"
#include "base/threads.hpp"
#include "cpu/kernel.hpp"
#include "cpu/pack.hpp"
#include "tensor/attribute.hpp"
#include "tensor/requantise.hpp"
#include "tensor/tensor.hpp"

namespace longshore::cpu {

/// The best ISA of this machine, or a lower one if LONGSHORE_CPU names it (generic, avx2, ...).
Isa best_isa() noexcept;
/// Whether this machine can run it.
bool has_isa(Isa) noexcept;
const char* name(Isa) noexcept;

/// The inner loops of that family for the best ISA up to `isa`, or null.
const void* find_inner(std::string_view family, Isa isa) noexcept;
template <class Functions>
const Functions& inner(std::string_view family, Isa isa) noexcept {
  return *static_cast<const Functions*>(find_inner(family, isa));
}

/// An input or output as it is known at load.
struct Operand {
  DType dtype = DType::undefined;  // undefined: absent
  bool fixed_shape = false;
  Shape shape;                        // if fixed_shape
  QuantView quant;                    // count 0: not quantised
  const void* constant = nullptr;     // its elements, if they are known; they outlive the kernel
  const SharedBlob* owner = nullptr;  // keeps `constant`, and the packs made of it

  bool present() const { return dtype != DType::undefined; }
  bool quantised() const { return quant.count > 0; }
};

/// One step that wants a kernel.
struct BindRequest {
  std::string_view domain, name;
  const Attributes& attributes;
  std::span<const Operand> inputs, outputs;
  Rounding rounding = Rounding::f32_even;
  Isa isa = Isa::generic;
  PackCache* packs = nullptr;  // null: what this kernel packs is its own

  const Operand& input(std::size_t i) const {
    static constexpr Operand absent;
    return i < inputs.size() ? inputs[i] : absent;
  }
  const Operand& output(std::size_t i = 0) const {
    static constexpr Operand absent;
    return i < outputs.size() ? outputs[i] : absent;
  }
  /// All operands that are present have known dims.
  bool fixed() const;
  /// Every operand that is present is f32 and not quantised.
  bool all_f32() const;

  /// Input `i`, a constant, as `bytes` bytes in an order that `layout` names in full (kernel,
  /// numbers of the tile, dims): made by fill(std::byte*) unless the cache has it. They are zero
  /// before.
  template <class F>
  Pack pack(std::size_t i, const PackLayout& layout, std::size_t bytes, F&& fill) const {
    const Operand& o = input(i);
    if (packs && o.owner) return packs->get(o.constant, *o.owner, layout, bytes, fill);
    return make_pack(bytes, fill);
  }
};

/// What a bound kernel gets at run time. Dims are those that it was bound for.
struct KernelRun {
  std::span<const TensorView> inputs;
  std::span<const MutableView> outputs;  // absent: data is null
  std::span<std::byte> scratch;          // 64-byte aligned
  ThreadPool& pool;
};

/// A kernel with its packed weights. Shared by contexts: run() changes nothing in it.
class BoundKernel {
 public:
  virtual ~BoundKernel() = default;
  virtual std::size_t scratch_bytes(int threads) const noexcept {
    (void)threads;
    return 0;
  }
  virtual void run(const KernelRun&) const noexcept = 0;
  /// For profiles: "gemm_f32 avx512 12x32".
  virtual const char* name() const noexcept = 0;
};

/// A fast kernel: src/cpu/kernels/<name>.cpp defines `kernel_<name>`.
struct Kernel {
  std::string_view name, doc;
  List<std::string_view, 24> operators;  // "Conv", "com.microsoft.FusedConv"
  /// Null where it does not fit these types and dims.
  std::unique_ptr<BoundKernel> (*bind)(const BindRequest&);
  std::string_view example;  // a graph as text that it runs: its test
};

/// The first kernel that fits, or null.
std::unique_ptr<BoundKernel> bind(const BindRequest&);

}  // namespace longshore::cpu

// Generated from the folders.
namespace longshore::kernels {
std::span<const cpu::Kernel* const> all();
}
namespace longshore::inners {
std::span<const cpu::Inner* const> all();
}
