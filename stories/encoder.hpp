// Blocks of a transformer's encoder, as quantised text.
#pragma once
#include <string>

namespace longshore::stories {

/// Attention and feed-forward part, without normalisation: a small share of the time.
struct Encoder {
  int tokens = 197, features = 192, heads = 3, inner = 768;  // as ViT-tiny
  int blocks = 1;
};

/// From rows of features to such rows. `also` names values of block 0 that are outputs besides:
/// ", q0" is a projection, ", q_heads0" what Reshape and Transpose make of it.
std::string text(const Encoder&, const std::string& also = "");

}  // namespace longshore::stories
