// Umbrella of layer rewrite: patterns, rules, the matcher, the verifier, the normal form. The families of gsub's own
// rules, `rewrite/rules_conv.hpp` and so on, are included by those who want one by its name.
#pragma once

#include <gsub/rewrite/conditions.hpp>
#include <gsub/rewrite/match.hpp>
#include <gsub/rewrite/matcher.hpp>
#include <gsub/rewrite/normal_form.hpp>
#include <gsub/rewrite/pattern.hpp>
#include <gsub/rewrite/program.hpp>
#include <gsub/rewrite/rewrite.hpp>
#include <gsub/rewrite/rule.hpp>
#include <gsub/rewrite/rules.hpp>
#include <gsub/rewrite/sample.hpp>
#include <gsub/rewrite/verifier.hpp>
