#include "lower/share_loads.hpp"

#include <algorithm>

#include "program/instructions/dma.hpp"
#include "program/region.hpp"

namespace longshore::lower {
namespace {

const Dma* load_of(const RoundItem& item) {
  return !item.tap && item.instruction.queue == Queue::dma_in
             ? item.instruction.operation.get_if<Dma>()
             : nullptr;
}

/// Whether two instructions may change places.
bool independent(const Instruction& a, const Instruction& b) {
  const Regions of_a = regions_of(a), of_b = regions_of(b);
  for (const Region& x : of_a)
    for (const Region& y : of_b)
      if ((x.write || y.write) && overlap(x, y)) return false;
  return true;
}

}  // namespace

void share_loads(std::vector<RoundItem>& round, std::uint32_t& shared) {
  std::vector<bool> gone(round.size());
  for (std::size_t i = 0; i < round.size(); i++) {
    Instruction& first = round[i].instruction;
    if (gone[i] || load_of(round[i]) == nullptr) continue;
    const Dma wanted = *load_of(round[i]);
    std::vector<std::uint8_t> cores = {first.core};
    for (std::size_t j = i + 1; j < round.size(); j++) {
      const Dma* other = load_of(round[j]);
      const std::uint8_t core = round[j].instruction.core;
      if (gone[j] || other == nullptr || *other != wanted || std::ranges::count(cores, core) > 0)
        continue;
      bool free = true;
      for (std::size_t k = i + 1; k < j && free; k++)
        free = gone[k] || independent(round[k].instruction, round[j].instruction);
      if (!free) continue;
      gone[j] = true;
      cores.push_back(core);
    }
    if (cores.size() < 2) continue;
    Dma& load = *first.operation.get_if<Dma>();
    for (const std::uint8_t core : cores) load.cores |= std::uint32_t{1} << core;
    first.core = cores[shared++ % cores.size()];
  }
  std::size_t at = 0;
  std::erase_if(round, [&](const RoundItem&) { return gone[at++]; });
}

}  // namespace longshore::lower
