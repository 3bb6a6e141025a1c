#pragma once
#include <span>
#include <string>
#include <string_view>

namespace longshore::compile {

/// "; near: 'conv1', 'conv2'": what was perhaps meant, at most three; empty where nothing is near.
std::string near_names(std::string_view wanted, std::span<const std::string> names);

}  // namespace longshore::compile
