// Programs for a few sizes of one dimension, of which the smallest that holds an input runs it: the
// rest is padding.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "json.hpp"

namespace longshore {

/// Of --buckets NAME=N,N,...: sizes in rising order.
struct Buckets {
  std::string dim;
  std::vector<std::int64_t> sizes;
};
/// Text that is none ends with bad_argument, and so does a size that is given twice.
Buckets parse_buckets(const std::string&);

/// The program of one bucket.
struct Bucket {
  std::int64_t size = 0;
  double ms = 0;  // predicted
  std::string bundle;
};

/// What padding takes, where all lengths up to the largest bucket are equally likely.
struct Padding {
  std::int64_t from = 1;      // the shortest length that the bucket is for
  double mean = 0, most = 0;  // parts of the bucket that are padding
};
Padding padding_of(std::span<const Bucket>, std::size_t i);
/// Of all lengths, with what of their elements is padding.
struct Mean {
  double ms = 0, padding = 0;
};
Mean mean_of(std::span<const Bucket>);

/// A table for people, and the same as JSON.
std::string text_of(const Buckets&, std::span<const Bucket>);
Json json_of(const Buckets&, std::span<const Bucket>);

/// `text` with the size in place of "{}".
std::string with_size(std::string text, std::int64_t size);
/// The file of a bucket: "{}" is its size, or "-NAME_SIZE" stands before the extension.
std::string file_of(const std::string& path, const Buckets&, std::int64_t size);

}  // namespace longshore
