#pragma once

namespace longshore {

/// Whether this is a build with the address sanitizer, which maps terabytes of address space and
/// has an allocator of its own. GCC and clang say so in different words.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

}  // namespace longshore
