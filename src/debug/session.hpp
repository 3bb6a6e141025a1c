// A stepped run of a program on the simulator. docs/debug.md is the chapter.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debug/pieces.hpp"
#include "measure/compare.hpp"
#include "sim/simulate.hpp"

namespace longshore::debug {

/// Bytes of the SRAM of a core, or of the DRAM as the NPU sees it.
struct Stretch {
  Space space = Space::sram;
  std::uint32_t core = 0;
  std::uint64_t begin = 0, end = 0;
};

struct Break {
  enum class Kind : std::uint8_t { number, address };
  Kind kind = Kind::number;
  int id = 0;
  std::uint32_t number = 0;  // in the order
  Stretch stretch;
  bool reads = false;  // an address that is read stops too
  std::string text;    // as it was asked for
};

/// What lies in SRAM: bytes that one instruction or tile wrote.
struct Content {
  std::uint32_t core = 0;
  Region region;
  std::string text;
  std::uint32_t writer = 0;  // in the order
  bool partly = false;       // something was written over a part of it
};

/// What became of a tensor up to now.
struct Made {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> writers;  // of each byte, 1 + the place in the order; 0: not made
  std::uint32_t tiles = 0, done = 0;
};

/// The first byte in time that is not the reference's.
struct Wrong {
  std::uint32_t tensor = 0, writer = 0;
  std::int64_t element = 0;
};

/// One inference, stopped between any two instructions. An instruction does its work as it ends,
/// so the order is that in which they end.
class Session {
 public:
  /// `want`: the reference's values by name. Program and host must outlive it.
  Session(const Program&, Host&, Pieces, Values want);

  std::uint32_t position() const { return position_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(trace().size()); }
  bool ended() const { return position_ == size(); }
  std::span<const Retired> trace() const { return simulator_->trace(); }
  double now_ns() const { return position_ == 0 ? 0 : trace()[position_ - 1].end_ns; }

  /// Executes the instruction at `position`; throws what the simulator says.
  void step();
  /// Steps until a break stops it, before the instruction that it is for. Null: the end.
  const Break* run();
  const Break& add(Break);
  bool remove(int id);
  const std::vector<Break>& breaks() const { return breaks_; }
  /// The instruction at that place touches the bytes: writes, or with `reads` either.
  bool touches(std::uint32_t at, const Stretch&, bool reads) const;

  const Program& program() const { return program_; }
  const Pieces& pieces() const { return pieces_; }
  const Made& made(std::uint32_t tensor) const { return made_[tensor]; }
  const Values& want() const { return want_; }
  const std::vector<Content>& contents() const { return contents_; }
  std::span<const std::byte> memory(const Stretch&) const;
  std::uint64_t semaphore(std::uint32_t id) const { return semaphores_[id]; }
  /// The place in the order of what the engine does next; no_index: it is done.
  std::uint32_t next_of(EngineId) const;
  std::uint32_t layer_of(std::uint32_t at) const;
  /// The first instruction or operator that belongs to the layer; no_index: none does.
  std::uint32_t first_of(std::string_view layer) const;
  /// Of one tensor, or of all.
  std::optional<Wrong> wrong(std::optional<std::uint32_t> tensor) const;

  /// "#12 mac[3]"; with the operands; "layer 'conv3'".
  std::string name_of(std::uint32_t at) const;
  std::string line_of(std::uint32_t at) const;

 private:
  const Instruction* instruction(std::uint32_t at) const;  // null: a step of the CPU
  void follow(const Instruction&);
  void follow(const Step&);
  void complete(const Piece&, std::span<const std::uint32_t> written_at);
  void add_content(Content);
  void add_stored(const Instruction&, const Region& to);
  std::string stored_in(const Region&) const;
  std::string text_of(const Instruction&) const;

  const Program& program_;
  Host& host_;
  Pieces pieces_;
  Values want_;
  mutable std::optional<Simulator> simulator_;
  std::vector<std::byte> arena_;
  std::uint32_t position_ = 0;
  std::vector<Break> breaks_;
  int next_id_ = 1;
  bool stopped_at_start_ = false;  // a break did, so that `run` goes on
  std::vector<Made> made_;
  std::map<std::pair<EngineId, std::uint32_t>, std::vector<std::size_t>> pieces_by_writer_;
  std::vector<std::vector<std::uint32_t>> written_at_;  // of each piece, as Made::writers
  std::vector<std::vector<std::uint32_t>> sram_writers_;
  std::vector<bool> placed_;               // a value of the program whose bytes are in the arena
  std::vector<std::uint32_t> value_time_;  // of each value of the program: written last at
  std::vector<std::uint64_t> semaphores_;
  std::vector<Content> contents_, stored_;  // of SRAM; of the arena, by stores
};

}  // namespace longshore::debug
