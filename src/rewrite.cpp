#include <gsub/rewrite.hpp>
#include <gsub/rewrite/engine/impl/canonicalization_patterns.ipp>
#include <gsub/rewrite/engine/impl/canonicalize.ipp>
#include <gsub/rewrite/engine/impl/matcher.ipp>
#include <gsub/rewrite/engine/impl/rewrite.ipp>
#include <gsub/rewrite/engine/impl/sum_terms.ipp>
#include <gsub/rewrite/engine/impl/term_matcher.ipp>
#include <gsub/rewrite/files/impl/loaded_rule.ipp>
#include <gsub/rewrite/files/impl/rule_description.ipp>
#include <gsub/rewrite/files/impl/rule_requirements.ipp>
#include <gsub/rewrite/files/impl/rule_shapes.ipp>
#include <gsub/rewrite/files/impl/rule_text.ipp>
#include <gsub/rewrite/files/impl/size_solver.ipp>
#include <gsub/rewrite/files/impl/taso.ipp>
#include <gsub/rewrite/rules/impl/conv.ipp>
#include <gsub/rewrite/rules/impl/matmul.ipp>
#include <gsub/rewrite/rules/impl/merge.ipp>
#include <gsub/rewrite/rules/impl/movement.ipp>
#include <gsub/rewrite/rules/impl/pool.ipp>
#include <gsub/rewrite/rules/impl/standard_rules.ipp>
#include <gsub/rewrite/verify/impl/instance_builder.ipp>
#include <gsub/rewrite/verify/impl/sample.ipp>
#include <gsub/rewrite/verify/impl/sample_conv.ipp>
#include <gsub/rewrite/verify/impl/verifier.ipp>

template struct gsub::detail::table_storage<gsub::sample_row, gsub::standard_ops>;
