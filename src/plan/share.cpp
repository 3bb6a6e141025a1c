#include "plan/share.hpp"

#include <algorithm>
#include <numeric>

#include "tensor/dtype.hpp"

namespace longshore::plan {
namespace {

using forms::Operand;
using Use = BufferUses::Use;

/// The channels of the whole that the view shows, if it shows all its rows and pixels.
std::optional<Span> simple_channels(const BufferUses& b, const View& view, const Extent& extent) {
  const Extent& e = b.extent;
  if (e.n != 1 || extent.n != 1 || extent.h != e.h || extent.w != e.w ||
      view.stride[1] != b.whole.stride[1] || view.stride[2] != b.whole.stride[2] ||
      view.stride[3] != b.whole.stride[3] || view.stride[3] == 0)
    return {};
  const std::uint64_t by = view.offset - b.whole.offset;
  const auto from = static_cast<std::int64_t>(by / view.stride[3]);
  if (by % view.stride[3] != 0 || from + extent.c > e.c) return {};
  return Span{from, from + extent.c};
}

class Linker {
 public:
  Linker(const Plan& plan, const std::vector<BufferUses>& buffers, std::size_t first,
         std::size_t last, ShareRules rules)
      : plan_(plan), buffers_(buffers), first_(first), last_(last), rules_(rules) {}

  std::optional<Links> run() {
    const std::size_t count = last_ + 1 - first_;
    out_.results.resize(count);
    out_.stored.resize(count);
    parts_.resize(count);
    std::iota(parts_.begin(), parts_.end(), std::size_t{0});
    for (std::size_t k = 0; k < count; k++) {
      const Layer& l = plan_.layers[first_ + k];
      std::size_t operands = 0;
      for (const Stage& s : l.stages) operands += s.operands.size();
      out_.operands.emplace_back(operands);
      touched_.push_back(l.to.buffer);
      for (const Stage& s : l.stages)
        for (const StageOperand& o : s.operands)
          if (o.view.buffer != no_buffer) touched_.push_back(o.view.buffer);
    }
    std::ranges::sort(touched_);
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const std::uint32_t b : touched_)
      if (!link(b)) return {};
    for (std::size_t k = 1; k < count; k++)
      if (part_of(k) != part_of(0)) return {};
    return std::move(out_);
  }

 private:
  bool within(const Use& u) const { return u.layer >= first_ && u.layer <= last_; }
  std::size_t part_of(std::size_t k) {
    while (parts_[k] != k) k = parts_[k] = parts_[parts_[k]];
    return k;
  }
  double bytes(const BufferUses& b, Span channels) const {
    return static_cast<double>(b.extent.h * b.extent.w * channels.size() * b.element_bytes);
  }
  bool aligned(const BufferUses& b, std::int64_t channel) const {
    return channel * b.element_bytes % forms::sram_alignment(plan_.placement.target.machine) == 0;
  }

  bool link(std::uint32_t number) {
    const BufferUses& b = buffers_[number];
    std::vector<const Use*> makers, readers;
    for (const Use& u : b.makers)
      if (within(u)) makers.push_back(&u);
    for (const Use& u : b.readers)
      if (within(u)) readers.push_back(&u);
    // Of the readers those that want what a layer here makes, or what another reads too.
    std::erase_if(readers, [&](const Use* r) {
      if (!makers.empty())
        return std::ranges::none_of(makers, [&](const Use* m) { return m->overlaps(*r); });
      return !rules_.inputs || !r->channels;
    });
    if (makers.empty()) {
      const std::vector<const Use*> all = readers;
      std::erase_if(readers, [&](const Use* r) {
        return std::ranges::none_of(
            all, [&](const Use* o) { return o->layer != r->layer && o->overlaps(*r); });
      });
    }
    if (!makers.empty() && !store(b, makers, readers)) return false;
    return readers.empty() || share(number, makers, readers);
  }

  /// Which makers store, and whether those can be in SRAM that must.
  bool store(const BufferUses& b, const std::vector<const Use*>& makers,
             const std::vector<const Use*>& readers) {
    if (!readers.empty() && !rules_.results) return false;
    for (const Use* r : readers)
      if (!r->channels) return false;
    bool all_gone = !b.outside;
    for (const Use* m : makers) {
      const bool wanted = b.outside || std::ranges::any_of(b.readers, [&](const Use& r) {
                            return !within(r) && m->overlaps(r);
                          });
      const bool kept = std::ranges::any_of(readers, [&](const Use* r) { return m->overlaps(*r); });
      if (kept && !m->channels) return false;
      // What nobody reads is stored as without a cascade.
      out_.stored[m->layer - first_] = wanted || !kept;
      all_gone &= !wanted && kept;
      if (!wanted && kept) out_.saved_bytes += bytes(b, *m->channels);
    }
    for (const std::vector<Use>* uses : {&b.makers, &b.readers})
      all_gone &= std::ranges::all_of(*uses, [&](const Use& u) { return within(u); });
    if (all_gone) out_.gone.push_back(plan_.layers[makers.front()->layer].to.buffer);
    return true;
  }

  bool share(std::uint32_t number, const std::vector<const Use*>& makers,
             const std::vector<const Use*>& readers) {
    const BufferUses& b = buffers_[number];
    SharedTensor t{number, *readers.front()->channels, last_, 0};
    std::vector<const Use*> kept;
    for (const Use* m : makers)
      if (std::ranges::any_of(readers, [&](const Use* r) { return m->overlaps(*r); }))
        kept.push_back(m);
    for (const std::vector<const Use*>* uses : {&std::as_const(kept), &readers})
      for (const Use* u : *uses) {
        t.channels = {std::min(t.channels.from, u->channels->from),
                      std::max(t.channels.to, u->channels->to)};
        t.first = std::min(t.first, u->layer - first_);
        t.last = std::max(t.last, u->layer - first_);
      }
    const std::size_t tensor = out_.tensors.size();
    const auto place = [&](const Use* u) {
      parts_[part_of(u->layer - first_)] = part_of(t.first);
      return Share{tensor, u->channels->from - t.channels.from};
    };
    std::vector<Span> there;
    for (const Use* m : kept) {
      const Share s = place(m);
      if (!aligned(b, s.channel)) return false;
      out_.results[m->layer - first_] = s;
      there.push_back(*m->channels);
    }
    for (const Use* r : readers) {
      const Share s = place(r);
      if (!aligned(b, s.channel)) return false;
      out_.operands[r->layer - first_][r->operand] = s;
      load_rest(b, *r, there);
      there.push_back(*r->channels);
    }
    out_.tensors.push_back(t);
    return true;
  }

  /// The reader loads those of its channels that are not there.
  void load_rest(const BufferUses& b, const Use& r, std::vector<Span> there) {
    std::ranges::sort(there, {}, &Span::from);
    std::int64_t at = r.channels->from;
    double loaded = 0;
    const auto load = [&](std::int64_t to) {
      if (to <= at) return;
      out_.loads.push_back(
          {r.layer - first_, r.operand, {at - r.channels->from, to - r.channels->from}});
      loaded += bytes(b, {at, to});
    };
    for (const Span& s : there) {
      load(std::min(s.from, r.channels->to));
      at = std::max(at, s.to);
    }
    load(r.channels->to);
    out_.saved_bytes += bytes(b, *r.channels) - loaded;
  }

  const Plan& plan_;
  const std::vector<BufferUses>& buffers_;
  const std::size_t first_, last_;
  const ShareRules rules_;
  Links out_;
  std::vector<std::size_t> parts_;  // of layers that share something, by their first
  std::vector<std::uint32_t> touched_;
};

}  // namespace

bool BufferUses::Use::overlaps(const Use& other) const {
  return !channels || !other.channels ||
         (channels->from < other.channels->to && other.channels->from < channels->to);
}

std::vector<BufferUses> buffer_uses(const Plan& plan) {
  const Graph& g = plan.placement.graph;
  std::vector<BufferUses> out(plan.buffers.size());
  for (std::size_t v = 0; v < plan.values.size(); v++) {
    const View& view = plan.values[v];
    if (view.buffer == no_buffer || plan.aliases[v].parent != no_value) continue;
    BufferUses& b = out[view.buffer];
    b.whole = view;
    // The CPU's ranks have no extent.
    const std::optional<Extent> extent = forms::extent_of(g.values[v]);
    b.outside = plan.dense[v] || !extent;
    if (extent) b.extent = *extent;
    b.element_bytes = static_cast<std::int64_t>(size_bytes(g.values[v].type.dtype));
  }
  for (std::size_t i = 0; i < plan.layers.size(); i++) {
    const Layer& l = plan.layers[i];
    std::size_t at = 0;
    for (const Stage& s : l.stages)
      for (const StageOperand& o : s.operands) {
        const std::size_t operand = at++;
        if (o.view.buffer == no_buffer) continue;
        BufferUses& b = out[o.view.buffer];
        Use use{i, operand, {}};
        if (o.what.source == Operand::Source::value && !o.what.matrix)
          use.channels = simple_channels(b, o.view, o.extent);
        b.readers.push_back(use);
      }
    BufferUses& b = out[l.to.buffer];
    b.makers.push_back({i, 0, simple_channels(b, l.to, l.stages.back().out)});
  }
  return out;
}

std::optional<Links> find_links(const Plan& plan, const std::vector<BufferUses>& buffers,
                                std::size_t first, std::size_t last, ShareRules rules) {
  return Linker(plan, buffers, first, last, rules).run();
}

}  // namespace longshore::plan
