// Plain binary encoding of values: little endian, no padding, no pointers. One `fields(archive,
// value)` function per type both writes and reads it, so that the two cannot differ
// (docs/adr/0003).
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.hpp"

namespace longshore {

static_assert(std::endian::native == std::endian::little, "encoded numbers are copied as they are");

/// How many enumerators an encoded enum has; they count from 0. Specialised beside `fields`.
template <class E>
inline constexpr unsigned enumerators = 0;

/// Appends values to a byte string.
class Encoder {
 public:
  static constexpr bool reading = false;

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void number(const T& x) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&x);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof x);
  }
  void text(const std::string& s) {
    number(static_cast<std::uint32_t>(s.size()));
    raw({reinterpret_cast<const std::byte*>(s.data()), s.size()});
  }
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// The count, then what `item` writes for each.
  template <class T, class F>
  void list(const std::vector<T>& items, std::size_t /*least_bytes_each*/, F&& item) {
    number(static_cast<std::uint32_t>(items.size()));
    for (const T& x : items)
      item(const_cast<T&>(x));  // `fields` takes references for both directions
  }
  bool ok() const { return true; }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads hostile bytes: after the first fault nothing more is read, and `status` says where it is.
class Decoder {
 public:
  static constexpr bool reading = true;

  explicit Decoder(std::span<const std::byte> bytes)
      : bytes_(bytes), memory_left_(bytes.size() * most_memory_per_byte + 1'000'000) {}

  /// What is allocated while the bytes are read is at most so many times their size (and a
  /// megabyte), with what lists outgrow.
  static constexpr std::size_t most_memory_per_byte = 30;

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void number(T& x) {
    if (bytes_.size() - at_ < sizeof x) return fault("it ends too soon");
    if constexpr (std::is_same_v<T, bool>) {
      const auto code = static_cast<std::uint8_t>(bytes_[at_]);
      if (code > 1) return fault("a truth value is neither 0 nor 1");
      x = code != 0;
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(enumerators<T> > 0, "specialise enumerators<T>");
      std::underlying_type_t<T> code;
      std::memcpy(&code, bytes_.data() + at_, sizeof code);
      if (code >= enumerators<T>) return fault("a code is not known");
      x = static_cast<T>(code);
    } else {
      std::memcpy(&x, bytes_.data() + at_, sizeof x);
    }
    at_ += sizeof x;
  }
  void text(std::string& s) {
    const std::size_t n = count(1);
    if (!ok() || !allows(n)) return;
    s.assign(reinterpret_cast<const char*>(bytes_.data()) + at_, n);
    at_ += n;
  }
  /// A look at the next bytes.
  std::span<const std::byte> raw(std::size_t n) {
    if (bytes_.size() - at_ < n) {
      fault("it ends too soon");
      return {};
    }
    at_ += n;
    return bytes_.subspan(at_ - n, n);
  }
  /// `least_bytes_each`: what an item takes at least, which bounds the count before memory is
  /// taken.
  template <class T, class F>
  void list(std::vector<T>& items, std::size_t least_bytes_each, F&& item) {
    const std::size_t n = count(least_bytes_each);
    for (std::size_t i = 0; i < n && ok(); i++) {
      if (items.size() == items.capacity()) {
        // Grows with what was read, as a count alone may take no memory, and by halves of the
        // count, so that it ends there.
        std::size_t room = items.size() + n - i;
        while (room > 2 * items.size() + 4) room = (room + 1) / 2;
        if (!allows(room * sizeof(T))) return;
        items.reserve(room);
      }
      items.emplace_back();
      item(items.back());
    }
  }
  std::size_t count(std::size_t least_bytes_each) {
    std::uint32_t n = 0;
    number(n);
    if (ok() && n > (bytes_.size() - at_) / least_bytes_each)
      fault("a count is larger than what follows");
    return ok() ? n : 0;
  }

  void fault(const char* what) {
    if (!ok()) return;
    status_ = Status::error(Code::bad_model, "byte %zu: %s", at_, what);
    at_ = bytes_.size();
  }
  /// Call at the end: everything must have been read.
  void finish() {
    if (ok() && at_ != bytes_.size()) fault("there is more than expected");
  }
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

 private:
  /// Takes so much of the memory that may be allocated.
  bool allows(std::size_t memory) {
    if (memory_left_ < memory) {
      fault("it takes far more memory than its size");
      return false;
    }
    memory_left_ -= memory;
    return true;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::size_t memory_left_;
  Status status_;
};

/// Short forms for use inside `fields`.
template <class A>
void texts(A& a, std::vector<std::string>& list) {
  a.list(list, 4, [&](std::string& s) { a.text(s); });
}
template <class A, class T>
void numbers(A& a, std::vector<T>& list) {
  a.list(list, sizeof(T), [&](T& x) { a.number(x); });
}

}  // namespace longshore
