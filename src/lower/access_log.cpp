#include "lower/access_log.hpp"

namespace longshore::lower {

void AccessLog::find(const Region& region, int engine, const Progress& known,
                     Progress& after) const {
  const std::uint64_t from = region.address, to = region.end();
  const auto meets = [&](std::uint64_t begin, std::uint64_t end, bool write) {
    return (write || region.write) && begin < to && from < end;
  };
  for (int e = 0; e < Progress::most; e++) {
    if (e == engine) continue;
    const auto& [accesses, blocks] = engines_[static_cast<std::size_t>(e)];
    const std::int32_t done = std::max(known[e], after[e]);
    for (std::size_t i = accesses.size(); i > 0;) {
      const Access& a = accesses[i - 1];
      if (a.at <= done) break;
      if (i % block_size == 0) {
        const Block& b = blocks[i / block_size - 1];
        if (!meets(b.from, b.to, b.write)) {
          i -= block_size;
          continue;
        }
      }
      if (meets(a.region.address, a.end, a.region.write) && overlap(a.region, region)) {
        after[e] = a.at;
        break;
      }
      i--;
    }
  }
}

void AccessLog::add(const Region& region, int engine, std::int32_t at) {
  if (region.empty()) return;
  Engine& e = engines_[static_cast<std::size_t>(engine)];
  const std::uint64_t end = region.end();
  if (e.accesses.size() % block_size == 0) e.blocks.push_back({region.address, end, region.write});
  e.accesses.push_back({region, end, at});
  Block& b = e.blocks.back();
  b = {std::min(b.from, region.address), std::max(b.to, end), b.write || region.write};
}

}  // namespace longshore::lower
