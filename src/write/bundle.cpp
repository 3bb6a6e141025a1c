#include "write/bundle.hpp"

#include <xxhash.h>

#include <cstring>
#include <unordered_map>

#include "base/error.hpp"
#include "base/file.hpp"
#include "ir/codec.hpp"
#include "program/bundle.hpp"
#include "program/codec.hpp"

namespace longshore {
namespace {

using namespace bundle_layout;

/// The section `constants`: first what an NPU reads, as it lies; then the program's other constants
/// and those that only the graph has. Equal bytes are stored once.
class ConstantsSection {
 public:
  explicit ConstantsSection(const Program& p) {
    if (p.constants) bytes_.assign(p.constants->bytes().begin(), p.constants->bytes().end());
    note(p);
  }

  std::uint64_t place(const Tensor& t) { return place(t.blob->bytes().first(t.bytes())); }

  /// Gives every constant with bytes of its own its place.
  void place(Program& p) {
    for (ProgramValue& v : p.values) {
      if (v.storage == Storage::constant && v.constant)
        v.offset = place(v.constant->bytes().first(static_cast<std::size_t>(v.shape.elements()) *
                                                   size_bytes(v.dtype)));
      v.constant = nullptr;
    }
    for (Step& s : p.steps)
      for (NestedProgram& n : s.nested) place(n.program);
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  struct Range {
    std::size_t offset, bytes;
  };

  std::uint64_t place(std::span<const std::byte> data) {
    const std::uint64_t hash = XXH3_64bits(data.data(), data.size());
    const auto [first, last] = known_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (it->second.bytes == data.size() &&
          (data.empty() ||
           std::memcmp(bytes_.data() + it->second.offset, data.data(), data.size()) == 0))
        return it->second.offset;
    bytes_.resize((bytes_.size() + 63) / 64 * 64);
    const std::size_t offset = bytes_.size();
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    known_.emplace(hash, Range{offset, data.size()});
    return offset;
  }

  void note(const Program& p) {
    for (const ProgramValue& v : p.values) {
      if (v.storage != Storage::constant || v.constant || !v.fixed_shape || v.offset % 64 != 0)
        continue;
      const auto size = static_cast<std::size_t>(v.shape.elements()) * size_bytes(v.dtype);
      check(v.offset <= bytes_.size() && size <= bytes_.size() - v.offset,
            "a constant lies outside the constants");
      known_.emplace(XXH3_64bits(bytes_.data() + v.offset, size),
                     Range{static_cast<std::size_t>(v.offset), size});
    }
    for (const Step& s : p.steps)
      for (const NestedProgram& n : s.nested) note(n.program);
  }

  std::vector<std::byte> bytes_;
  std::unordered_multimap<std::uint64_t, Range> known_;
};

std::span<const std::byte> text_bytes(const std::string& s) { return std::as_bytes(std::span(s)); }

}  // namespace

std::vector<std::byte> bundle_bytes(const BundleContents& c) {
  ConstantsSection constants(c.program);
  Program placed = c.program;
  constants.place(placed);
  const std::size_t program_constants = constants.bytes().size();
  const std::vector<std::byte> graph =
      encode(c.graph, [&](const Tensor& t) { return constants.place(t); });
  const std::vector<std::byte> program = encode(placed);
  struct Part {
    Section section;
    std::span<const std::byte> bytes;
  };
  std::vector<Part> parts = {{Section::graph, graph},
                             {Section::program, program},
                             {Section::constants, constants.bytes()}};
  if (!c.target.empty()) parts.push_back({Section::target, text_bytes(c.target)});
  if (!c.choices.empty()) parts.push_back({Section::choices, text_bytes(c.choices)});
  if (!c.report.empty()) parts.push_back({Section::report, text_bytes(c.report)});
  if (!c.pictures.empty()) parts.push_back({Section::pictures, text_bytes(c.pictures)});

  const auto aligned = [](std::size_t n) { return (n + alignment - 1) / alignment * alignment; };
  std::vector<Entry> table;
  std::size_t at = sizeof(Header) + parts.size() * sizeof(Entry);
  for (const Part& p : parts) {
    const std::size_t offset = aligned(at);
    table.push_back({static_cast<std::uint32_t>(p.section), 0, offset, p.bytes.size(),
                     XXH3_64bits(p.bytes.data(), p.bytes.size())});
    at = offset + p.bytes.size();
  }
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = version;
  header.sections = static_cast<std::uint32_t>(parts.size());
  header.file_bytes = at;
  header.program_constants_bytes = program_constants;
  header.table_hash = XXH3_64bits(table.data(), table.size() * sizeof(Entry));
  header.hash = XXH3_64bits(&header, offsetof(Header, hash));

  std::vector<std::byte> out(at);
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, table.data(), table.size() * sizeof(Entry));
  for (std::size_t i = 0; i < parts.size(); i++)
    if (!parts[i].bytes.empty())
      std::memcpy(out.data() + table[i].offset, parts[i].bytes.data(), parts[i].bytes.size());
  return out;
}

void write_bundle(const std::string& path, const BundleContents& c) {
  require(write_file(path, bundle_bytes(c)));
}

}  // namespace longshore
