// What a user decides in the compiler's place. A bundle holds it as text, so that its program can
// be made again.
#pragma once
#include "compile/compile.hpp"

namespace longshore::compile {

/// `option` is "--force" (NODE=cpu or NODE=npu), "--without" (a mechanism), "--sram-cap" (bytes, at
/// most the target's) or "--optimize" (speed or size); applies it and adds it to
/// `Options::choices`. Throws for anything else, saying what was expected.
void choose(Options&, const std::string& option, const std::string& value);
/// Lines of an option, a space and its value, as `Options::choices` has them.
void choose_all(Options&, std::string_view lines);

/// "layout or fusion or ...": what --without takes.
std::string mechanism_names();

}  // namespace longshore::compile
