#include "program/bundle.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/file.hpp"
#include "base/guard.hpp"
#include "program/codec.hpp"

namespace longshore {

using namespace bundle_layout;

namespace {

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

Status damaged(const char* what) {
  return Status::error(Code::bad_model,
                       "the bundle is damaged: %s; build it again or copy it again", what);
}

}  // namespace

bool is_bundle(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= sizeof magic && std::memcmp(bytes.data(), magic, sizeof magic) == 0;
}

Result<Bundle> Bundle::open(SharedBlob file) {
  return guarded([&] { return open_checked(std::move(file)); });
}

Result<Bundle> Bundle::open_checked(SharedBlob file) {
  const std::span<const std::byte> bytes = file->bytes();
  if (!is_bundle(bytes)) return Status::error(Code::bad_model, "not a bundle");
  Header header;
  if (bytes.size() < sizeof header) return damaged("it is cut within its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (XXH3_64bits(bytes.data(), offsetof(Header, hash)) != header.hash)
    return damaged("its header does not match its hash");
  if (header.version != version)
    return Status::error(Code::unsupported,
                         "the bundle has version %u, this program reads version %u", header.version,
                         version);
  if (header.file_bytes != bytes.size())
    return Status::error(Code::bad_model,
                         "the bundle is damaged: it has %zu bytes, %llu expected; copy it again",
                         bytes.size(), static_cast<unsigned long long>(header.file_bytes));
  if (header.sections == 0 || header.sections > section_count || header.reserved != 0)
    return damaged("its header makes no sense");
  Entry table[section_count];
  const std::size_t table_bytes = header.sections * sizeof(Entry);
  if (bytes.size() - sizeof header < table_bytes) return damaged("it is cut within its table");
  std::memcpy(table, bytes.data() + sizeof header, table_bytes);
  if (XXH3_64bits(bytes.data() + sizeof header, table_bytes) != header.table_hash)
    return damaged("its table does not match its hash");

  Bundle out;
  std::size_t at = sizeof header + table_bytes;  // everything before it is checked
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < header.sections; i++) {
    const Entry& e = table[i];
    if (e.section <= last || e.section > section_count || e.reserved != 0)
      return damaged("its table makes no sense");
    last = e.section;
    if (e.offset < at || e.offset % alignment != 0 || e.offset - at >= alignment ||
        e.offset > bytes.size() || e.bytes > bytes.size() - e.offset)
      return damaged("a section lies elsewhere than it should");
    const auto offset = static_cast<std::size_t>(e.offset),
               size = static_cast<std::size_t>(e.bytes);
    if (!all_zero(bytes.subspan(at, offset - at)))
      return damaged("there is something between its sections");
    const std::span<const std::byte> section = bytes.subspan(offset, size);
    if (XXH3_64bits(section.data(), section.size()) != e.hash)
      return damaged("a section does not match its hash");
    out.sections_[e.section] = section;
    at = offset + size;
  }
  if (at != bytes.size()) return damaged("there is something after its last section");
  const std::span<const std::byte> constants = out.section(Section::constants);
  if (header.program_constants_bytes > constants.size())
    return damaged("its constants are fewer than it says");
  out.constants_ = std::make_shared<const Blob>(constants, file);
  out.program_constants_ = std::make_shared<const Blob>(
      constants.first(static_cast<std::size_t>(header.program_constants_bytes)), file);
  return out;
}

Result<Bundle> Bundle::open(const std::string& path) {
  Result<SharedBlob> file = read_file(path);
  if (!file.ok()) return file.status();
  Result<Bundle> bundle = open(*file);
  if (!bundle.ok())
    return Status::error(bundle.status().code(), "%.120s: %s", path.c_str(),
                         bundle.status().text());
  return bundle;
}

std::span<const std::byte> Bundle::section(Section s) const noexcept {
  return sections_[static_cast<std::uint32_t>(s)];
}

std::string_view Bundle::text(Section s) const noexcept {
  const std::span<const std::byte> bytes = section(s);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Program> Bundle::program() const {
  const std::span<const std::byte> bytes = section(Section::program);
  if (bytes.empty()) return Status::error(Code::bad_model, "the bundle has no program");
  return decode_program(bytes, program_constants_);
}

}  // namespace longshore
