// Layer rewrite: patterns, rules, the matcher, the verifier, canonicalization.
// The families of rules, `rewrite/rules/conv.hpp` and so on, are included by those who want a rule by its name.
#pragma once

#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/match.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/pattern/conditions.hpp>
#include <gsub/rewrite/pattern/pattern.hpp>
#include <gsub/rewrite/pattern/program.hpp>
#include <gsub/rewrite/pattern/rule.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/rewrite/verify/sample.hpp>
#include <gsub/rewrite/verify/verifier.hpp>
