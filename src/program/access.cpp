#include "program/access.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace longshore {
namespace {

struct Loop {
  std::uint64_t stride = 0, count = 1;
};

/// The region's loops of more than one turn, by ascending stride; returns how many.
int sorted_loops(const Region& r, Loop (&loops)[3]) {
  int n = 0;
  for (int i = 0; i < 3; i++) {
    if (r.count[i] <= 1) continue;
    int at = n++;
    for (; at > 0 && loops[at - 1].stride > r.stride[i]; at--) loops[at] = loops[at - 1];
    loops[at] = {r.stride[i], r.count[i]};
  }
  return n;
}

Region tile(const char* operand, const Tile& t, std::uint64_t height, std::uint64_t width,
            std::uint64_t run, bool write = false) {
  return {Space::sram,
          write,
          operand,
          t.address,
          run,
          {height, width, 1},
          {t.row_stride, t.pixel_stride, 0}};
}

Region plain(const char* operand, std::uint64_t address, std::uint64_t bytes, bool write = false) {
  return {Space::sram, write, operand, address, bytes};
}

template <class O, class S>
Region runs(Space space, bool write, const char* operand, std::uint64_t address,
            const S (&stride)[3], const O& o) {
  Region r{space, write, operand, address, o.run_bytes};
  for (int i = 0; i < 3; i++) {
    r.count[i] = o.count[i];
    r.stride[i] = stride[i];
  }
  return r;
}

void conv(const Conv& c, Regions& out) {
  out.add(tile("in", c.in, c.in_h, c.in_w, c.in_c));
  const std::uint64_t taps = std::uint64_t{c.kernel_h} * c.kernel_w;
  out.add({Space::sram,
           false,
           "weights",
           c.weights,
           c.in_c,
           {c.depthwise ? 1 : c.out_c, taps, 1},
           {c.weight_out_stride, c.weight_tap_stride, 0}});
  if (c.accumulate)
    out.add(tile("accumulators", c.accumulators, c.out_h, c.out_w, std::uint64_t{c.out_c} * 4));
  if (c.finish) {
    out.add(plain("parameters", c.parameters, std::uint64_t{c.out_c} * sizeof(ChannelParameters)));
    out.add(tile("out", c.out, c.out_h, c.out_w, c.out_c, true));
  } else {
    out.add(
        tile("accumulators", c.accumulators, c.out_h, c.out_w, std::uint64_t{c.out_c} * 4, true));
  }
}

}  // namespace

const char* name(Space space) noexcept {
  switch (space) {
    case Space::sram:
      return "SRAM";
    case Space::arena:
      return "arena";
    case Space::constants:
      return "constants";
  }
  return "?";
}

std::uint64_t Region::end() const noexcept {
  if (empty()) return address;
  // Each product is below 2^128: count < 2^32, stride < 2^64.
  Wide last = static_cast<Wide>(address) + run;
  for (int i = 0; i < 3; i++) last += static_cast<Wide>(count[i] - 1) * stride[i];
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return last > most ? most : static_cast<std::uint64_t>(last);
}

Region Region::merged() const noexcept {
  Region r = *this;
  if (empty()) return r;
  Loop loops[3];
  const int n = sorted_loops(*this, loops);
  int kept = 0;
  for (int i = 0; i < n; i++) {
    const auto [step, times] = loops[i];
    if (step == 0) continue;  // the same run again
    if (kept == 0 && step <= r.run) {
      r.run += step * (times - 1);  // dense, or windows that overlap
      continue;
    }
    if (kept > 0 && loops[kept - 1].stride * loops[kept - 1].count == step) {
      loops[kept - 1].count *= times;
      continue;
    }
    loops[kept++] = loops[i];
  }
  for (int i = 0; i < 3; i++) {
    r.count[2 - i] = i < kept ? loops[i].count : 1;
    r.stride[2 - i] = i < kept ? loops[i].stride : 0;
  }
  return r;
}

bool Region::disjoint_runs() const noexcept {
  Loop loops[3];
  const int n = sorted_loops(*this, loops);
  Wide extent = run;
  for (int i = 0; i < n; i++) {
    if (loops[i].stride < extent) return false;
    extent += static_cast<Wide>(loops[i].stride) * (loops[i].count - 1);
  }
  return true;
}

std::uint64_t macs(const Operation& operation) noexcept {
  const auto* c = std::get_if<Conv>(&operation);
  if (c == nullptr) return 0;
  const std::uint64_t out = std::uint64_t{c->out_h} * c->out_w * c->out_c;
  return out * c->kernel_h * c->kernel_w * (c->depthwise ? 1 : c->in_c);
}

bool overlap(const Region& a, const Region& b) noexcept {
  if (a.space != b.space || a.empty() || b.empty()) return false;
  if (a.end() <= b.address || b.end() <= a.address) return false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> first;
  each_run(a, [&](std::uint64_t begin, std::uint64_t end) { first.emplace_back(begin, end); });
  std::sort(first.begin(), first.end());
  bool met = false;
  each_run(b, [&](std::uint64_t begin, std::uint64_t end) {
    if (met) return;
    // Runs of one region either nest in ascending order or overlap each other only as windows do,
    // so that the last one that begins before `end` reaches furthest.
    const auto after =
        std::lower_bound(first.begin(), first.end(), std::pair{end, std::uint64_t{0}});
    met = after != first.begin() && std::prev(after)->second > begin;
  });
  return met;
}

Regions regions_of(const Instruction& instruction) noexcept {
  Regions out;
  const Operation& operation = instruction.operation;
  if (const auto* o = std::get_if<Dma>(&operation)) {
    const Space far = o->dram == Dram::arena ? Space::arena : Space::constants;
    const bool store = instruction.queue == Queue::dma_out;
    const Region dram = runs(far, store, "dram_address", o->dram_address, o->dram_stride, *o);
    const Region sram =
        runs(Space::sram, !store, "sram_address", o->sram_address, o->sram_stride, *o);
    out.add(store ? sram : dram);
    out.add(store ? dram : sram);
  } else if (const auto* o = std::get_if<Fill>(&operation)) {
    out.add(runs(Space::sram, true, "address", o->address, o->stride, *o));
  } else if (const auto* o = std::get_if<Copy>(&operation)) {
    out.add(runs(Space::sram, false, "from", o->from, o->from_stride, *o));
    out.add(runs(Space::sram, true, "to", o->to, o->to_stride, *o));
  } else if (const auto* o = std::get_if<Conv>(&operation)) {
    conv(*o, out);
  } else if (const auto* o = std::get_if<Eltwise>(&operation)) {
    out.add(tile("a", o->a, o->height, o->width, o->a_channel_stride == 0 ? 1 : o->channels));
    out.add(tile("b", o->b, o->height, o->width, o->b_channel_stride == 0 ? 1 : o->channels));
    out.add(tile("out", o->out, o->height, o->width, o->channels, true));
  } else if (const auto* o = std::get_if<Table>(&operation)) {
    out.add(tile("in", o->in, o->height, o->width, o->channels));
    out.add(plain("table", o->table, 256));
    out.add(tile("out", o->out, o->height, o->width, o->channels, true));
  } else if (const auto* o = std::get_if<Requantise>(&operation)) {
    out.add(tile("in", o->in, o->height, o->width, o->channels));
    out.add(tile("out", o->out, o->height, o->width, o->channels, true));
  } else if (const auto* o = std::get_if<Pool>(&operation)) {
    out.add(tile("in", o->in, o->in_h, o->in_w, o->channels));
    out.add(tile("out", o->out, o->out_h, o->out_w, o->channels, true));
  } else if (const auto* o = std::get_if<Reduce>(&operation)) {
    out.add(tile("in", o->in, o->height, o->width, o->channels));
    if (o->accumulate)
      out.add(plain("accumulators", o->accumulators, std::uint64_t{o->channels} * 4));
    if (o->finish)
      out.add(plain("out", o->out, o->channels, true));
    else
      out.add(plain("accumulators", o->accumulators, std::uint64_t{o->channels} * 4, true));
  } else if (const auto* o = std::get_if<Resize>(&operation)) {
    out.add(tile("in", o->in, o->in_h, o->in_w, o->channels));
    if (o->factor_h == 0) out.add(plain("rows", o->rows, std::uint64_t{o->out_h} * 2));
    if (o->factor_w == 0) out.add(plain("columns", o->columns, std::uint64_t{o->out_w} * 2));
    out.add(tile("out", o->out, o->out_h, o->out_w, o->channels, true));
  }
  return out;
}

}  // namespace longshore
