// Included by files that are compiled with ISA flags: plain types only. A template or inline
// function of the standard library, instantiated there, could be the copy that the linker keeps
// for the whole program.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace longshore::cpu {

/// Instruction sets with inner loops of their own, each including those before it.
enum class Isa : unsigned char { generic, avx2, avx512, avx512vnni };
constexpr int isa_count = 4;

/// The inner loops of one family for one ISA: src/cpu/<family>.<isa>.cpp defines
/// `inner_<family>_<isa>`. `functions` points to the struct that <family>.inner.hpp declares.
struct Inner {
  const char* family;
  Isa isa;
  const void* functions;
};

}  // namespace longshore::cpu
