#!/bin/sh
# Builds gsub and runs its benchmarks, those of the papers' figures first; prints each command before it runs, and writes
# figures into the pages where they stand between marks (scripts/figures.py). Installs the Debian packages that are missing.
#   --quick   what takes three minutes: costs and counts, which go into the pages, and a few short timings, which do not
#   --paper   the papers' protocol for lists of passes too: 1000 runs after 100
#   --keep    the pages stay as they are
# A bench that fails, or whose figures lie beyond their budgets, does not end the others: the last lines name it. The exit
# code is 1 where one failed, and without --quick where one is beyond its budget: those are for a machine that is idle.
set -eu
cd "$(dirname "$0")"
. scripts/packages.sh

quick="" keep="" protocol="--warmup 3 --runs 12"
for option in "$@"; do
    case "$option" in
    --quick) quick=yes ;;
    --paper) protocol="--warmup 100 --runs 1000" ;;
    --keep) keep=yes ;;
    *) echo "usage: ./bench.sh [--quick] [--paper] [--keep]" >&2 && exit 2 ;;
    esac
done
# shellcheck disable=SC2086
require_packages $build_packages

benches="bench_search bench_rewrite bench_import bench_passes bench_lower bench_steps"
[ "$quick" ] || benches="$benches bench_rules bench_kernels bench_micro_kernels bench_predict bench_networks bench_operators"
step "building (build/release)"
cmake --preset release -DGSUB_BENCH_OPTIONS= >/dev/null
# shellcheck disable=SC2086
cmake --build --preset release --target gsub_cli $benches >&2

gsub() {
    build/release/bin/gsub --quiet "$@"
}
bin=build/release/bench
out=build/bench
mkdir -p $out
: >$out/figures.txt
: >$out/times.txt
beyond="" failed=""

# Prints a command and runs it; what it prints on stdout goes to the file named first where that is not `-`.
run() {
    to=$1 && shift
    step "$*"
    status=0
    if [ "$to" = - ]; then "$@" || status=$?; else "$@" >"$to" || status=$?; fi
    case $status in
    0) ;;
    1) beyond="$beyond
  $*" ;;
    *) failed="$failed
  $*" ;;
    esac
}
# Figures that are counted or predicted, and those of a clock.
figure() {
    scripts/figures.py json "$@" >>$out/figures.txt
}
time_figure() {
    scripts/figures.py json "$@" >>$out/times.txt
}

step "the report on relaxed substitution: figure 3.1, greedy and relaxed"
module=$out/resnet_module.onnx
[ -f $module ] || gsub models resnet_module -o $module >/dev/null
for alpha in 1.00 1.05 1.15; do
    json=$out/figure_3_1_$alpha.json
    run - gsub optimize $module --cost roofline --rules atomic --alpha $alpha --verify --json $json
    figure "figure_3_1.alpha_$alpha" $json cost_after.value 1e6 1 us
done
figure figure_3_1.before $out/figure_3_1_1.00.json cost_before.value 1e6 1 us
run - gsub optimize $module --cost roofline --rules atomic --alpha 1.15 -o $out/resnet_module_best.onnx
for variant in "" _best; do
    json=$out/time_of_module$variant.json
    run - gsub bench $out/resnet_module$variant.onnx --paper --json $json
    time_figure "figure_3_1.latency${variant:-_before}" $json latency_ms.mean 1000 0 us
done

step "equations 3.1 to 3.3, figures 3.2 to 3.5: one rule at one node, and the weights that it builds"
large=$out/resnet_module_enlarged.onnx
run - gsub optimize $module --cost roofline --apply enlarge_conv@shortcut --verify -o $large --json $out/apply.json
figure enlarge_conv.after $out/apply.json cost_after.value 1e6 1 us
run - gsub explain $module --cost roofline --rule enlarge_conv --node shortcut --weights
run - gsub explain $large --cost roofline --rule merge_conv_siblings --node conv1 --weights --json $out/merged.json
figure merge_conv_siblings.built $out/merged.json places.0.weights.built.0.type
step "gsub explain $module --cost roofline --rule add_fuse --weights"
gsub explain $module --cost roofline --rule add_fuse --weights --json $out/fused.json || true # no search tries it: exit code 1
figure add_fuse.kernels $out/fused.json places.0.weights.built.0.kernels.all
figure add_fuse.zero $out/fused.json places.0.weights.built.0.kernels.zero
figure add_fuse.identities $out/fused.json places.0.weights.built.0.kernels.identity

step "section 3.4: every metric under every objective"
run - gsub optimize $module --objectives --rules atomic --alpha 1.15 --json $out/objectives.json
scripts/figures.py objectives objectives.resnet_module $out/objectives.json >>$out/figures.txt
figure objectives.machine $out/objectives.json predicted_for
[ -f $out/inception_v3.onnx ] || gsub models inception_v3 -o $out/inception_v3.onnx >/dev/null
run - gsub optimize $out/inception_v3.onnx --objectives --json $out/objectives_inception.json
scripts/figures.py objectives objectives.inception_v3 $out/objectives_inception.json >>$out/figures.txt

step "the architecture-aware selection paper: tables 1 and 2, figure 1, and the baseline's protocol"
for model in resnet50_v1 resnet50 mobilenet_v2 ssd_resnet50 bert_base; do
    [ -f $out/$model.onnx ] || gsub models $model -o $out/$model.onnx >/dev/null
done
for model in resnet50_v1 mobilenet_v2 ssd_resnet50 bert_base; do
    run - gsub inspect $out/$model.onnx --stages
done
run - gsub passes

if [ "$quick" ]; then
    run $out/passes.jsonl $bin/bench_passes --warmup 1 --runs 5 --rounds 1 --lists none,tvm_o3,AS-0,AS-1,auto mobilenet_v2
    run $out/search.jsonl $bin/bench_search 200 0 squeezenet1_1
    run $out/rewrite.jsonl $bin/bench_rewrite
    run $out/import.jsonl $bin/bench_import
    run $out/lower.jsonl $bin/bench_lower --runs 3
    run $out/steps.jsonl $bin/bench_steps --small --budget 10
else
    for model in resnet50 mobilenet_v2 ssd_resnet50 bert_base; do
        run - gsub bench $out/$model.onnx --paper --passes auto --json $out/paper_$model.json
        time_figure paper.$model.latency $out/paper_$model.json latency_ms.mean 1 2
        time_figure paper.$model.throughput $out/paper_$model.json throughput_per_s 1 1
    done
    # shellcheck disable=SC2086
    run $out/passes.jsonl $bin/bench_passes $protocol --rounds 5
    run $out/passes_cold.jsonl $bin/bench_passes --warmup 1 --runs 1 --rounds 1 --cold --lists tvm_o3,AS-0,AS-1,auto
    scripts/figures.py builds compile_time $out/passes_cold.jsonl >>$out/times.txt
    run $out/search.jsonl $bin/bench_search
    run $out/search_latency.jsonl $bin/bench_search latency
    run $out/rules.jsonl $bin/bench_rules
    run $out/rewrite.jsonl $bin/bench_rewrite
    run $out/import.jsonl $bin/bench_import
    run $out/lower.jsonl $bin/bench_lower
    run $out/kernels.jsonl $bin/bench_kernels
    run $out/micro_kernels.jsonl $bin/bench_micro_kernels
    run $out/predict.jsonl $bin/bench_predict
    run $out/rank.jsonl $bin/bench_predict rank
    run $out/pairs.jsonl $bin/bench_predict pairs
    run $out/steps.jsonl $bin/bench_steps
    run $out/networks.jsonl $bin/bench_networks --check
    folder=docs
    if [ "$keep" ]; then
        folder=$out
        cp docs/performance.md $folder/
    fi
    run $out/compare.jsonl bench/compare/compare.py --gsub build/release/bin/gsub --random 1 \
        --models "$(grep -o '"[a-z0-9_]*"' bench/compared_networks.hpp | tr -d '"' | paste -sd,)" \
        --markdown $folder/performance.md --plot $folder/performance.svg
    run $out/operators.jsonl bench/compare/operators.py
    [ "$keep" ] || scripts/figures.py --from docs/performance.md
fi

step "figures"
cat $out/figures.txt $out/times.txt
[ "$keep" ] || scripts/figures.py --write $out/figures.txt
[ "$keep$quick" ] || scripts/figures.py --write $out/times.txt
[ -z "$beyond" ] || step "beyond a budget:$beyond"
[ -z "$failed" ] || step "failed:$failed"
[ -z "$failed" ] && { [ "$quick" ] || [ -z "$beyond" ]; }
