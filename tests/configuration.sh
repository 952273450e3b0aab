#!/bin/sh
# Builds and tests the tree of another preset: configuration.sh PRESET
# or one test program of it alone: configuration.sh PRESET PROGRAM [ARGUMENT...]
set -eu
cd "$(dirname "$0")/.."
cmake --preset "$1" >/dev/null
if [ $# -gt 1 ]; then
    preset=$1 program=$2
    shift 2
    cmake --build --preset "$preset" --target "$program"
    exec "build/$preset/tests/$program" "$@"
fi
cmake --build --preset "$1"
# What only reads the sources is tested in the first tree, and so is what computes for long and touches nothing that
# other tests do not: proofs of rules and their many instances, searches by brute force and those that are repeated in
# many ways, what is done again from the beginning to be compared with what is done in part, many points
# of the spaces of kernels, functions over all magnitudes, networks of the catalogue and their weights, whole networks
# that are lowered, given costs, taken apart by passes or evaluated, the longest searches of the command line, its verbs
# whose calls are long and that other calls of them see (models, compile, tune, optimize); and what
# waits for another compiler, whose code no sanitizer of this tree sees: kernels of one kind (those of random graphs are
# built here), other processors, exported programs.
left_to_the_first_tree="of the library .* proved|what trying everything finds|TASO's rules|for a thousand \
random graphs|activations alive|right without any one|beyond the budget of|the same whatever admits|the same where (a \
node's|costs of)|a relaxation without bound|relaxed search with atomic|every model of the catalogue (is legal|comes \
back)|VGG-19 has|copies of weights that its rewrites make|is the search in one go|depends on neither the run|as cheap as \
searched whole|holds under any alpha|an eighth of the steps|as if it had not been|100,000 nodes in a chain|every allowed \
point gives|points of large kernels|one kernel of both convolutions|goldens of (classifiers|networks)|one kernel of each \
group of the networks|types of the networks|every rule fires, all its preferences|the list .default. makes the \
kernels|networks of every width and depth|depends? on (its|their) seed|has the published|query, key and value of each \
layer|small ResNet-18 and|features of known networks|optimize tells what it did|every cost and choice|goes on from its trace|\
computes the pixels alone|cycles are scheduled where|machine that is named|time, that of their groups|groups cost \
what the kernels|predicted by their assembly|calibration gives rates|undefined-behaviour sanitizers object|an \
emulated processor|widest of them does|three quarters of the inner|casts between any two|arithmetic behind a conv|Winograd kernels have NaN|groups of every \
width|whatever groups its passes|channels last are neither|(depth|rows of pixels) have kernels|takes? images of any \
size|survive ONNX|layers of (networks|images that have depth) are right|blocks of channels are joined|activation of \
a convolution is|weights cannot take are|rows and pixels are no|bench times runs|is calibrated \
and the|elementwise operators in all types|move elements of any type are|same search in parts gives|search in parts tells \
adds|parts searched side by side|compiled (convolutions|Winograd kernels|separable|products|attention|kernels of)|says, \
compiled|movements are those of single|channels stand in blocks or last|images that have depth computes|Winograd space \
has what|last cache beyond 64|cut into small parts compute|has the groups of the graph before|same where kernels \
are predicted|moves that have nothing to do|BERT|networks have all of their|what is joined in networks|image networks|\
PyTorch's networks|finds in the networks|of the networks|unpacked normalisations|networks of the catalogue are fused|\
report a picture and|\
list of passes decides|in time in proportion|goals are weighed|a small multiple of the direct|NaN and infinities come \
out|Winograd kernel of any shape|over all magnitudes|tuned by each score|a goal stands for|(processor|gpu) that is not here|costs? on a GPU what|\
kernels of a GPU have the|search for a GPU|a system that gives no worker|\
cleaning the neighbourhood comes|emitted in memory compute what|instance that a rule is verified on|\
is left alone by a rule that fires|time grows nearly linearly, on networks|\
through random lists of exact|finds the classifier's product|no budget is exceeded, however|that decided has changed, the same|said to be and to cost, it is|\
networks go into blocks|a refutation says in which|gates of a cell become|fires nowhere on networks|\
nothing in networks|nothing in ResNet-50|ResNet-50's stages|network of parallel branches likewise|\
any allowed points compute|drawn for any rule is|as far as a clock says|groups around a change are those|\
a million consecutive words|hundred thousand operators take|copy moves without gsub|encoder does without gsub|\
do so without gsub|poolings of every type have|operator that kernels take, in every|\
more than 4096 kernels is searched|results go to stdout|input and result are timed|a file has no layouts|\
listed written and read back|a file are proved and used|compile writes a folder|tuned and built from its records|device of OpenCL|devices are opened by|17_device"
# A case that takes all descriptors too: UBSan looks at memory through a pipe.
labels="layering|docs|models"
# CTest goes on without an expression that it cannot compile, of more than some 30 groups for one.
if ctest --preset "$1" -N --exclude-regex "$left_to_the_first_tree" 2>&1 | grep RegularExpression; then
    exit 1
fi

# Cases of a program share processes, forty at a time: to start an instrumented program takes longer than most cases.
# They are named `layer:case`, other tests `kind: what`.
build=$PWD/build/$1
cases=$build/cases
rm -rf "$cases" && mkdir "$cases"
ctest --preset "$1" -N --label-exclude "$labels" --exclude-regex "$left_to_the_first_tree" |
    sed -n 's/^ *Test *#[0-9]*: \([a-z_]*\):\([^ ].*\)$/\1 \2/p' |
    awk -v folder="$cases" '{ layer = $1; part = int(count[layer] / 40); ++count[layer]
        sub(/^[^ ]* /, ""); gsub(/,/, "\\,"); print > (folder "/" layer "." part) }'
[ -n "$(ls "$cases")" ] || { echo "no case of the programs of layers was found" >&2 && exit 1; }
export build cases
failed=0
# shellcheck disable=SC2016
ls "$cases" | GSUB_CHECK_STAGES=1 xargs -P "$(nproc)" -I '{}' sh -c '
    cd "$build/tests"
    if timeout 900 "./test_${1%%.*}" --durations yes --input-file "$cases/$1" >"$cases/$1.log" 2>&1 &&
        grep -Eq " in $(grep -c . "$cases/$1") test cases?\)" "$cases/$1.log"; then
        echo "$1: $(grep " test case" "$cases/$1.log")"
    else
        grep -v "^[0-9.]* s: " "$cases/$1.log" | tail -n 200
        echo "$1: failed"
        exit 1
    fi' sh '{}' || failed=1
ctest --preset "$1" --parallel "$(nproc)" --label-exclude "$labels" \
    --exclude-regex "^[a-z_]+:[^ ]|$left_to_the_first_tree" || failed=1
exit $failed
