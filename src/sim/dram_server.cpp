#include "sim/dram_server.hpp"

#include <algorithm>
#include <limits>

namespace longshore {

void DramServer::elapse(double now_ns) {
  for (Transfer& t : transfers_) t.bytes = std::max(0.0, t.bytes - t.rate * (now_ns - time_ns_));
  time_ns_ = now_ns;
}

void DramServer::divide() {
  // Water-filling: whoever wants less than an equal part gets all it wants, the rest is divided
  // anew.
  double left = capacity_;
  std::size_t open = transfers_.size();
  for (Transfer& t : transfers_) t.rate = -1;
  while (open > 0) {
    const double part = left / static_cast<double>(open);
    bool settled = false;
    for (Transfer& t : transfers_)
      if (t.rate < 0 && t.most * t.share <= part) {
        t.rate = t.most;
        left -= t.most * t.share;
        open--;
        settled = true;
      }
    if (settled) continue;
    for (Transfer& t : transfers_)
      if (t.rate < 0) t.rate = part / t.share;
    break;
  }
}

void DramServer::start(std::uint32_t id, double now_ns, const DmaCost& cost) {
  elapse(now_ns);
  transfers_.push_back(
      {id, static_cast<double>(cost.dram_bytes), cost.bytes_per_ns, cost.dram_share, 0});
  divide();
}

void DramServer::stop(std::uint32_t id, double now_ns) {
  elapse(now_ns);
  std::erase_if(transfers_, [&](const Transfer& t) { return t.id == id; });
  divide();
}

double DramServer::finish_ns(std::uint32_t id) const noexcept {
  for (const Transfer& t : transfers_)
    if (t.id == id) return t.bytes <= 0 ? time_ns_ : time_ns_ + t.bytes / std::max(t.rate, 1e-9);
  return std::numeric_limits<double>::infinity();
}

double DramServer::rate(std::uint32_t id) const noexcept {
  for (const Transfer& t : transfers_)
    if (t.id == id) return t.rate;
  return 0;
}

}  // namespace longshore
