#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "program/program.hpp"

namespace longshore {

/// The program without its constants, as a bundle holds it.
std::vector<std::byte> encode(const Program&);

/// Back again, nested programs included; all of them get `constants`. Bytes may be hostile: sizes
/// and codes are checked here, what they mean by Model::load and the verifier.
Result<Program> decode_program(std::span<const std::byte>, const SharedBlob& constants);

}  // namespace longshore
