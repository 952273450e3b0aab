#include <gsub/rewrite.hpp>
#include <gsub/rewrite/impl/loaded_rule.ipp>
#include <gsub/rewrite/impl/matcher.ipp>
#include <gsub/rewrite/impl/normal_form.ipp>
#include <gsub/rewrite/impl/rewrite.ipp>
#include <gsub/rewrite/impl/rule_description.ipp>
#include <gsub/rewrite/impl/rule_requirements.ipp>
#include <gsub/rewrite/impl/rule_shapes.ipp>
#include <gsub/rewrite/impl/rule_text.ipp>
#include <gsub/rewrite/impl/rules.ipp>
#include <gsub/rewrite/impl/rules_conv.ipp>
#include <gsub/rewrite/impl/rules_matmul.ipp>
#include <gsub/rewrite/impl/rules_merge.ipp>
#include <gsub/rewrite/impl/rules_pool.ipp>
#include <gsub/rewrite/impl/rules_tensor.ipp>
#include <gsub/rewrite/impl/sample.ipp>
#include <gsub/rewrite/impl/taso.ipp>
#include <gsub/rewrite/impl/verifier.ipp>

template struct gsub::detail::table_storage<gsub::sample_row, gsub::standard_ops>;
