// Layer rewrite: patterns, rules, the matcher, the verifier, canonicalization.
#pragma once

#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/match.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/files/loaded_rule.hpp>
#include <gsub/rewrite/files/rule_description.hpp>
#include <gsub/rewrite/files/rule_shapes.hpp>
#include <gsub/rewrite/files/rule_text.hpp>
#include <gsub/rewrite/files/taso.hpp>
#include <gsub/rewrite/pattern/conditions.hpp>
#include <gsub/rewrite/pattern/pattern.hpp>
#include <gsub/rewrite/pattern/program.hpp>
#include <gsub/rewrite/pattern/rule.hpp>
#include <gsub/rewrite/rules/conv.hpp>
#include <gsub/rewrite/rules/matmul.hpp>
#include <gsub/rewrite/rules/merge.hpp>
#include <gsub/rewrite/rules/movement.hpp>
#include <gsub/rewrite/rules/pool.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/rewrite/verify/sample.hpp>
#include <gsub/rewrite/verify/verifier.hpp>
