#include "read/file_kind.hpp"

namespace longshore {
namespace {

using Sort = FileKind::Sort;
using namespace std::string_view_literals;

struct Row {
  std::size_t at;
  std::string_view bytes;
  FileKind kind;
};

constexpr Row rows[] = {
    {0, "\x89PNG"sv, {"a PNG picture", Sort::picture}},
    {0, "\xff\xd8\xff"sv, {"a JPEG picture", Sort::picture}},
    {8, "WEBP"sv, {"a WebP picture", Sort::picture}},
    {0, "GIF87a"sv, {"a GIF picture", Sort::picture}},
    {0, "GIF89a"sv, {"a GIF picture", Sort::picture}},
    {0, "BM"sv, {"a BMP picture", Sort::picture}},
    {0, "II*\0"sv, {"a TIFF picture", Sort::picture}},
    {0, "MM\0*"sv, {"a TIFF picture", Sort::picture}},
    {4, "ftypheic"sv, {"a HEIC picture", Sort::picture}},
    {4, "ftypmif1"sv, {"a HEIF picture", Sort::picture}},
    {4, "ftypavif"sv, {"an AVIF picture", Sort::picture}},
    {0, "\0\0\0\x0cjP  "sv, {"a JPEG 2000 picture", Sort::picture}},
    {8, "WAVE"sv, {"a WAV sound", Sort::sound}},
    {0, "fLaC\0"sv, {"a FLAC sound", Sort::sound}},
    {0, "OggS\0"sv, {"an Ogg sound", Sort::sound}},
    {0, "ID3\x03"sv, {"an MP3 sound", Sort::sound}},
    {0, "ID3\x04"sv, {"an MP3 sound", Sort::sound}},
    {0, "\xff\xfb"sv, {"an MP3 sound", Sort::sound}},
    {0, "\x93NUMPY"sv, {"a NumPy array", Sort::array}},
    {0, "\x89HDF"sv, {"an HDF5 file (a Keras model?)", Sort::model}},
    {4, "TFL3"sv, {"a TensorFlow Lite model", Sort::model}},
    {0, "LSBUNDLE"sv, {"a bundle", Sort::model}},
    {0, "PK\x03\x04"sv, {"a zip archive (a PyTorch or .npz file?)", Sort::other}},
    {0, "\x1f\x8b"sv, {"a gzip archive", Sort::other}},
    {0, "%PDF"sv, {"a PDF file", Sort::other}},
    {0,
     "\x7f"
     "ELF"sv,
     {"a program", Sort::other}},
};

}  // namespace

std::optional<FileKind> file_kind(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Row& row : rows) {
    if (text.size() < row.at + row.bytes.size() ||
        text.substr(row.at, row.bytes.size()) != row.bytes)
      continue;
    if (row.at == 8 && !text.starts_with("RIFF")) continue;
    // Two letters alone say little: a bitmap's header has zeros at bytes 6 to 9.
    if (row.bytes == "BM"sv && (text.size() < 26 || text.substr(6, 4) != "\0\0\0\0"sv)) continue;
    return row.kind;
  }
  return {};
}

}  // namespace longshore
