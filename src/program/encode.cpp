#include "program/encode.hpp"

#include <bit>
#include <type_traits>
#include <utility>

#include "program/fields.hpp"

namespace longshore {
namespace {

template <class T>
constexpr std::uint32_t words_of() {
  return sizeof(T) == 8 ? 2 : 1;
}

template <class O>
std::uint32_t operand_words() {
  std::uint32_t n = 0;
  const O o;
  each_field(o, [&]<class T>(const char*, Role, const T&) { n += words_of<T>(); });
  return n;
}

/// Flags have few values; false if `word` is none of them.
template <class T>
bool set_flag(T& member, std::uint32_t word) {
  const std::uint32_t most = std::is_same_v<T, Rounding> || std::is_same_v<T, Eltwise::Function> ? 2 : 1;
  if (word > most) return false;
  member = static_cast<T>(word);
  return true;
}

template <std::size_t... I>
Operation empty_operation(std::size_t index, std::index_sequence<I...>) {
  Operation out;
  ((I == index ? (out = std::variant_alternative_t<I, Operation>{}, 0) : 0), ...);
  return out;
}

}  // namespace

void encode(const Instruction& instruction, std::vector<std::uint32_t>& out) {
  const std::size_t head = out.size();
  out.push_back(0);
  out.push_back(instruction.layer);
  std::visit(
      [&](const auto& operation) {
        each_field(operation, [&]<class T>(const char*, Role, const T& member) {
          if constexpr (std::is_same_v<T, float>) out.push_back(std::bit_cast<std::uint32_t>(member));
          else if constexpr (std::is_same_v<T, std::uint64_t>) {
            out.push_back(static_cast<std::uint32_t>(member));
            out.push_back(static_cast<std::uint32_t>(member >> 32));
          } else out.push_back(static_cast<std::uint32_t>(member));
        });
      },
      instruction.operation);
  out[head] = static_cast<std::uint32_t>(out.size() - head) |
              static_cast<std::uint32_t>(instruction.operation.index()) << 8 |
              static_cast<std::uint32_t>(instruction.queue) << 16 | std::uint32_t{instruction.core} << 24;
}

Result<std::vector<Instruction>> decode(std::span<const std::uint32_t> words) {
  std::vector<Instruction> out;
  for (std::size_t at = 0; at < words.size();) {
    const std::uint32_t head = words[at], length = head & 0xff, operation = head >> 8 & 0xff;
    const auto bad = [&](const char* what) {
      return Status::error(Code::bad_model, "instruction %zu at word %zu: %s", out.size(), at, what);
    };
    if (operation >= operation_count) return bad("no such operation");
    if ((head >> 16 & 0xff) >= static_cast<std::uint32_t>(queue_count)) return bad("no such queue");
    if (length < 2 || length > words.size() - at) return bad("its length leaves the stream");
    Instruction instruction;
    instruction.queue = static_cast<Queue>(head >> 16 & 0xff);
    instruction.core = static_cast<std::uint8_t>(head >> 24);
    instruction.layer = words[at + 1];
    instruction.operation = empty_operation(operation, std::make_index_sequence<operation_count>());
    bool fits = true, flags = true;
    std::visit(
        [&]<class O>(O& o) {
          fits = operand_words<O>() == length - 2;
          if (!fits) return;
          std::size_t next = at + 2;
          each_field(o, [&]<class T>(const char*, Role, T& member) {
            const std::uint32_t word = words[next++];
            if constexpr (std::is_same_v<T, float>) member = std::bit_cast<float>(word);
            else if constexpr (std::is_same_v<T, std::uint64_t>) member = word | std::uint64_t{words[next++]} << 32;
            else if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) flags = flags && set_flag(member, word);
            else if constexpr (std::is_same_v<T, std::int8_t>) {
              member = static_cast<std::int8_t>(word);
              flags = flags && static_cast<std::uint32_t>(member) == word;
            } else member = static_cast<T>(word);
          });
        },
        instruction.operation);
    if (!fits) return bad("its length is not that of its operation");
    if (!flags) return bad("an operand has none of its values");
    out.push_back(std::move(instruction));
    at += length;
  }
  return out;
}

void encode(const Machine& machine, std::vector<std::uint64_t>& out) {
  Machine::each(machine, [&]<class T>(const char*, const char*, const T& member) {
    if constexpr (std::is_same_v<T, double>) out.push_back(std::bit_cast<std::uint64_t>(member));
    else out.push_back(static_cast<std::uint64_t>(member));
  });
}

Status decode(std::span<const std::uint64_t> words, Machine& machine) {
  std::size_t count = 0;
  Machine::each(machine, [&](const char*, const char*, const auto&) { count++; });
  if (words.size() != count)
    return Status::error(Code::bad_model, "machine: %zu numbers, expected %zu", words.size(), count);
  std::size_t next = 0;
  Status status;
  Machine::each(machine, [&]<class T>(const char* section, const char* key, T& member) {
    const std::uint64_t word = words[next++];
    bool fits = true;
    if constexpr (std::is_same_v<T, double>) member = std::bit_cast<double>(word);
    else {
      const std::uint64_t most = std::is_same_v<T, bool>       ? 1
                                 : std::is_same_v<T, Dataflow> ? 3
                                                               : (std::uint64_t{1} << 8 * sizeof(T)) - 1;
      fits = word <= most;
      if (fits) member = static_cast<T>(word);
    }
    if (!fits && status.ok()) status = Status::error(Code::bad_model, "machine: %s.%s is out of range", section, key);
  });
  return status;
}

}  // namespace longshore
