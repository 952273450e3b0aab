#include <gsub/eval.hpp>
#include <gsub/eval/impl/evaluate.ipp>
#include <gsub/eval/impl/evaluate_index.ipp>
#include <gsub/eval/impl/evaluate_math.ipp>
#include <gsub/eval/impl/evaluate_quantized.ipp>
#include <gsub/eval/impl/evaluate_reduce.ipp>
#include <gsub/eval/impl/evaluate_tensor.ipp>
#include <gsub/eval/impl/evaluator.ipp>
#include <gsub/eval/impl/fold.ipp>
#include <gsub/eval/impl/not_computable.ipp>
#include <gsub/eval/impl/uninterpreted.ipp>

template struct gsub::detail::table_storage<gsub::eval_row, gsub::standard_ops>;
