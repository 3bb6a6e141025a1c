// The bundle, .lsb: what `build` makes and `run` takes. docs/bundle.md has the layout.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "program/program.hpp"

namespace longshore {

/// A bundle's sections, each at most once, in this order.
enum class Section : std::uint32_t {
  graph = 1,    // the graph that was compiled, without its constants
  program = 2,  // the program, without its constants
  constants =
      3,         // raw: the program's constants, an NPU's first, then those that only the graph has
  target = 4,    // the text of the target file
  choices = 5,   // what was decided in the compiler's place: a line for each
  report = 6,    // JSON: placement and cost
  pictures = 7,  // how pictures become inputs: a line for each option
};
inline constexpr std::uint32_t section_count = 7;

namespace bundle_layout {
inline constexpr char magic[8] = {'L', 'S', 'B', 'U', 'N', 'D', 'L', 'E'};
inline constexpr std::uint32_t version = 6;
inline constexpr std::size_t alignment = 4096;

/// At byte 0. `hash` is the XXH3 of the bytes before it.
struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t sections;
  std::uint64_t file_bytes;
  std::uint64_t
      program_constants_bytes;  // the part of the section `constants` that the program has
  std::uint64_t table_hash;
  std::uint64_t reserved;  // 0
  std::uint64_t hash;
};
static_assert(sizeof(Header) == 56);

/// Follow the header. Offsets are multiples of `alignment`; the bytes between sections are 0.
struct Entry {
  std::uint32_t section;
  std::uint32_t reserved;  // 0
  std::uint64_t offset, bytes, hash;
};
static_assert(sizeof(Entry) == 32);
}  // namespace bundle_layout

/// An opened bundle: every byte of the file was checked against its hash or is padding of zeros.
class Bundle {
 public:
  /// `file` may be hostile: cut, flipped or made up. Nobody may change its bytes afterwards.
  static Result<Bundle> open(SharedBlob file);
  /// Reads and opens.
  static Result<Bundle> open(const std::string& path);

  /// Empty where the bundle has none.
  std::span<const std::byte> section(Section) const noexcept;
  std::string_view text(Section) const noexcept;
  /// The whole section `constants`; shares the file.
  SharedBlob constants() const { return constants_; }
  /// Decodes the program; its constants share the file.
  Result<Program> program() const;

 private:
  static Result<Bundle> open_checked(SharedBlob file);

  SharedBlob constants_, program_constants_;  // both hold the file
  std::span<const std::byte> sections_[section_count + 1];
};

/// True for the first bytes of a bundle.
bool is_bundle(std::span<const std::byte>) noexcept;

}  // namespace longshore
