// TASO importer: reads substitutions in TASO's format.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/rewrite/files/rule_description.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Parses the bytes of a file in TASO's protobuf format. Rules are named `taso_0`, `taso_1`, ... in the order of the
/// file, their inputs `x1`, `x2`, ... as TASO numbers them. The shapes give the groups of convolutions, as in TASO;
/// elementwise operators do not broadcast, as in the generator that made the rules.
/// *Errors* `invalid_input` naming rule and operator: bytes that are no such file, fields, operator types or parameters
/// that the format does not have, and descriptions that are no rules (see `check`); `unsupported` for operators of the
/// format other than conv2d, matmul, add, mul, relu, sigmoid, tanh, concat and split, and for parameters beyond theirs.
/// *Source* github.com/jiazhihao/TASO, src/core/rules.proto
GSUB_LAZY [[nodiscard]] result<std::vector<rule_description>> read_taso(std::string_view data);

/// Loads rules from a file of at most 16 MB, which errors name. *Errors* `environment` and `unsupported` too, as
/// `io::read_file`.
GSUB_LAZY [[nodiscard]] result<std::vector<rule_description>> load_taso(std::string const& path);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/files/impl/taso.ipp>
#endif
