#include "debug/session.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "program/instructions/signal.hpp"
#include "program/instructions/wait.hpp"
#include "program/print.hpp"

namespace longshore::debug {
namespace {

std::uint64_t bytes_of(const ProgramValue& v) {
  return v.fixed_shape ? static_cast<std::uint64_t>(v.shape.elements()) * size_bytes(v.dtype) : 0;
}

Region plain(const Stretch& s) {
  Region r = plain_region("", s.begin, s.end - s.begin);
  r.space = s.space;
  r.core = static_cast<std::uint8_t>(s.core);
  return r;
}

}  // namespace

Session::Session(const Program& program, Host& host, Pieces pieces, Values want)
    : program_(program),
      host_(host),
      pieces_(std::move(pieces)),
      want_(std::move(want)),
      arena_(program.arena_bytes, NpuMemory::fresh_byte),
      sram_writers_(program.machine.cores, std::vector<std::uint32_t>(program.machine.sram_bytes)),
      placed_(program.values.size()),
      value_time_(program.values.size()),
      semaphores_(program.machine.semaphores) {
  Result<Simulator> simulator = Simulator::create(program, {.trace = true});
  require(simulator.status());
  simulator_.emplace(std::move(*simulator));
  require(simulator_->start(arena_));
  for (const Step& s : program.steps)
    if (computes(s))
      for (const std::uint32_t v : s.outputs)
        if (v != no_index) placed_[v] = true;
  for (std::size_t i = 0; i < program.values.size(); i++) {
    const ProgramValue& v = program.values[i];
    const auto known = [&](const Followed& f) { return f.name == v.name; };
    const bool tapped = std::ranges::any_of(pieces_.tensors, known);
    const bool fits = v.storage == Storage::arena && v.fixed_shape;
    // What the CPU computes is followed as well.
    if (fits && placed_[i] && !tapped)
      pieces_.tensors.push_back({v.name, v.dtype, v.shape, v.quantisation});
    placed_[i] = fits && (placed_[i] || tapped);
  }
  for (const Followed& f : pieces_.tensors)
    made_.push_back({std::vector<std::byte>(f.bytes()), std::vector<std::uint32_t>(f.bytes())});
  for (const Piece& piece : pieces_.pieces) {
    made_[piece.tensor].tiles++;
    for (const Effect& w : piece.writers)
      pieces_by_writer_[{w.engine, w.index}].push_back(written_at_.size());
    written_at_.emplace_back();
  }
}

const Instruction* Session::instruction(std::uint32_t at) const {
  const Effect& e = trace()[at].what;
  return e.engine == cpu_engine(program_.machine)
             ? nullptr
             : &program_.queues[e.engine % queue_count][e.index];
}

void Session::step() {
  check(!ended(), "there is nothing left to step");
  const Effect& e = trace()[position_].what;
  require(simulator_->step(e, arena_, host_));
  if (const Instruction* i = instruction(position_))
    follow(*i);
  else
    follow(program_.steps[e.index]);
  position_++;
}

void Session::follow(const Instruction& i) {
  if (const auto* w = i.operation.get_if<Wait>()) semaphores_[w->semaphore] -= w->count;
  if (const auto* s = i.operation.get_if<Signal>()) semaphores_[s->semaphore] += s->count;
  if (is_control(i.operation)) return;
  for (const Region& r : regions_of(i)) {
    if (!r.write) continue;
    if (r.space == Space::arena) {
      for (std::size_t v = 0; v < program_.values.size(); v++) {
        const ProgramValue& value = program_.values[v];
        if (placed_[v] && r.address >= value.offset && r.end() <= value.offset + bytes_of(value))
          value_time_[v] = position_ + 1;
      }
      add_stored(i, r);
      continue;
    }
    each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
      auto& writers = sram_writers_[r.core];
      std::fill(writers.begin() + static_cast<std::ptrdiff_t>(begin),
                writers.begin() + static_cast<std::ptrdiff_t>(end), position_ + 1);
    });
    add_content({r.core, r, text_of(i), position_});
  }
  const Effect& e = trace()[position_].what;
  const auto found = pieces_by_writer_.find({e.engine, e.index});
  if (found == pieces_by_writer_.end()) return;
  for (const std::size_t p : found->second) {
    written_at_[p].push_back(position_ + 1);
    if (written_at_[p].size() == pieces_.pieces[p].writers.size())
      complete(pieces_.pieces[p], written_at_[p]);
  }
}

void Session::follow(const Step& s) {
  if (s.kind == Step::Kind::wait) semaphores_[s.semaphore]--;
  if (s.kind == Step::Kind::signal) semaphores_[s.semaphore]++;
  if (!computes(s)) return;
  for (const std::uint32_t v : s.outputs) {
    if (v == no_index || program_.values[v].storage != Storage::arena) continue;
    const ProgramValue& value = program_.values[v];
    value_time_[v] = position_ + 1;
    for (std::size_t t = 0; t < made_.size(); t++) {
      if (pieces_.tensors[t].name != value.name || made_[t].bytes.size() != bytes_of(value))
        continue;
      std::memcpy(made_[t].bytes.data(), arena_.data() + value.offset, made_[t].bytes.size());
      std::ranges::fill(made_[t].writers, position_ + 1);
    }
  }
}

void Session::complete(const Piece& piece, std::span<const std::uint32_t> written_at) {
  Made& made = made_[piece.tensor];
  const Dma& d = *piece.store.operation.get_if<Dma>();
  const std::byte* sram = simulator_->memory().sram(piece.store.core).data();
  const auto& writers = sram_writers_[piece.store.core];
  for (std::uint64_t i = 0; i < d.count[0]; i++)
    for (std::uint64_t j = 0; j < d.count[1]; j++)
      for (std::uint64_t k = 0; k < d.count[2]; k++)
        for (std::uint64_t b = 0; b < d.run_bytes; b++) {
          const std::uint64_t from = d.sram_address + i * d.sram_stride[0] + j * d.sram_stride[1] +
                                     k * d.sram_stride[2] + b,
                              to = d.dram_address + i * d.dram_stride[0] + j * d.dram_stride[1] +
                                   k * d.dram_stride[2] + b;
          made.bytes.at(to) = sram[from];
          // A byte that a changed instruction leaves as it was is that one's fault.
          const bool expected = std::ranges::find(written_at, writers[from]) != written_at.end();
          made.writers[to] = expected ? writers[from] : written_at.back();
        }
  made.done++;
  const Followed& tensor = pieces_.tensors[piece.tensor];
  Content content{piece.store.core, {}, "", written_at.back() - 1};
  for (const Region& r : regions_of(piece.store))
    if (r.write)
      content.text = tensor.name + box_of(r, tensor.shape, size_bytes(tensor.dtype));
    else
      content.region = r;
  add_content(std::move(content));
}

void Session::add_content(Content content) {
  const Region& r = content.region;
  std::erase_if(contents_, [&](Content& old) {
    if (!overlap(old.region, r)) return false;
    if (old.region.address >= r.address && old.region.end() <= r.end()) return true;
    old.partly = true;
    bool left = false;  // a byte that nothing wrote since
    each_run(old.region, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t b = begin; b < end && !left; b++)
        left = sram_writers_[old.core][b] <= old.writer + 1;
    });
    return !left;
  });
  contents_.push_back(std::move(content));
}

/// What a store puts into the arena is what lay in SRAM.
void Session::add_stored(const Instruction& i, const Region& to) {
  Content stored{i.core, to, {}, position_};
  for (const Region& r : regions_of(i))
    if (r.space == Space::sram)
      for (const Content& c : contents_)
        if (!c.partly && overlap(c.region, r)) stored.text = c.text;
  std::erase_if(stored_, [&](const Content& old) { return overlap(old.region, to); });
  if (!stored.text.empty()) stored_.push_back(std::move(stored));
}

std::string Session::stored_in(const Region& r) const {
  std::vector<std::string> texts;
  for (const Content& c : stored_)
    if (overlap(c.region, r) && std::ranges::find(texts, c.text) == texts.end())
      texts.push_back(c.text);
  std::string out;
  for (const std::string& t : texts) out += (out.empty() ? "of " : ", ") + t;
  return out;
}

std::string Session::text_of(const Instruction& i) const {
  std::string layer =
      i.layer == no_index ? std::string() : " of layer '" + program_.layers[i.layer] + "'";
  const auto* d = i.operation.get_if<Dma>();
  if (d == nullptr) return str("written by ", longshore::name(i.operation), layer);
  if (d->dram == Dram::constants) return str("constants:", d->dram_address, layer);
  for (Region r : regions_of(i)) {
    if (r.space != Space::arena) continue;
    const ProgramValue* best = nullptr;
    std::uint32_t time = 0;
    for (std::size_t v = 0; v < program_.values.size(); v++) {
      const ProgramValue& value = program_.values[v];
      if (!placed_[v] || value_time_[v] <= time || r.address < value.offset ||
          r.end() > value.offset + bytes_of(value))
        continue;
      best = &value, time = value_time_[v];
    }
    if (best == nullptr) {
      const std::string stored = stored_in(r);
      return stored.empty() ? str("arena:", d->dram_address, layer) : stored;
    }
    r.address -= best->offset;
    return best->name + box_of(r, best->shape, size_bytes(best->dtype));
  }
  return layer;
}

bool Session::touches(std::uint32_t at, const Stretch& stretch, bool reads) const {
  const Region wanted = plain(stretch);
  if (const Instruction* i = instruction(at)) {
    if (is_control(i->operation)) return false;
    for (const Region& r : regions_of(*i))
      if ((r.write || reads) && overlap(r, wanted)) return true;
    return false;
  }
  if (stretch.space != Space::arena) return false;
  const Step& s = program_.steps[trace()[at].what.index];
  const auto meets = [&](std::uint64_t begin, std::uint64_t bytes) {
    return begin < stretch.end && stretch.begin < begin + bytes;
  };
  if (s.kind == Step::Kind::clean || (reads && s.kind == Step::Kind::invalidate))
    return !program_.machine.coherent && meets(s.offset, s.bytes);
  if (!program_.machine.coherent || !computes(s)) return false;
  const auto any = [&](const std::vector<std::uint32_t>& list) {
    return std::ranges::any_of(list, [&](std::uint32_t v) {
      return v != no_index && program_.values[v].storage == Storage::arena &&
             meets(program_.values[v].offset, bytes_of(program_.values[v]));
    });
  };
  return any(s.outputs) || (reads && any(s.inputs));
}

const Break* Session::run() {
  const std::uint32_t from = position_;
  for (; !ended(); step()) {
    // Not where it stands already, unless it has not begun.
    if (position_ == from && (from > 0 || stopped_at_start_)) continue;
    for (const Break& b : breaks_) {
      const bool stops = b.kind == Break::Kind::number ? b.number == position_
                                                       : touches(position_, b.stretch, b.reads);
      if (!stops) continue;
      stopped_at_start_ = position_ == 0;
      return &b;
    }
  }
  return nullptr;
}

const Break& Session::add(Break b) {
  b.id = next_id_++;
  breaks_.push_back(b);
  return breaks_.back();
}

bool Session::remove(int id) {
  return std::erase_if(breaks_, [&](const Break& b) { return b.id == id; }) > 0;
}

std::span<const std::byte> Session::memory(const Stretch& s) const {
  const std::span<const std::byte> all = s.space == Space::sram
                                             ? simulator_->memory().sram(static_cast<int>(s.core))
                                             : simulator_->memory().dram();
  return all.subspan(s.begin, s.end - s.begin);
}

std::uint32_t Session::next_of(EngineId e) const {
  for (std::uint32_t at = position_; at < size(); at++)
    if (trace()[at].what.engine == e) return at;
  return no_index;
}

std::uint32_t Session::layer_of(std::uint32_t at) const {
  if (const Instruction* i = instruction(at)) return i->layer;
  return program_.steps[trace()[at].what.index].layer;
}

std::uint32_t Session::first_of(std::string_view layer) const {
  for (std::uint32_t at = 0; at < size(); at++) {
    const std::uint32_t l = layer_of(at);
    if (l >= program_.layers.size() || program_.layers[l] != layer) continue;
    const Instruction* i = instruction(at);
    if (i ? !is_control(i->operation) : computes(program_.steps[trace()[at].what.index])) return at;
  }
  return no_index;
}

std::optional<Wrong> Session::wrong(std::optional<std::uint32_t> only) const {
  std::optional<Wrong> first;
  for (std::uint32_t t = 0; t < made_.size(); t++) {
    const auto want = want_.find(pieces_.tensors[t].name);
    const Made& m = made_[t];
    if ((only && *only != t) || want == want_.end() || want->second.bytes() != m.bytes.size())
      continue;
    const std::byte* right = want->second.blob->bytes().data();
    for (std::size_t b = 0; b < m.bytes.size(); b++)
      if (m.writers[b] != 0 && m.bytes[b] != right[b] &&
          (!first || m.writers[b] - 1 < first->writer))
        first = {t, m.writers[b] - 1,
                 static_cast<std::int64_t>(b / size_bytes(pieces_.tensors[t].dtype))};
  }
  return first;
}

std::string Session::name_of(std::uint32_t at) const {
  const Effect& e = trace()[at].what;
  return str("#", at, " ", engine_name(program_.machine, e.engine), "[", e.index, "]");
}

std::string Session::line_of(std::uint32_t at) const {
  const Instruction* i = instruction(at);
  const std::uint32_t layer = layer_of(at);
  return str(name_of(at), " ", i ? print(*i) : print(program_.steps[trace()[at].what.index]),
             layer == no_index || layer >= program_.layers.size()
                 ? std::string()
                 : " '" + program_.layers[layer] + "'",
             ", ends at ", trace()[at].end_ns, " ns");
}

}  // namespace longshore::debug
