// Options that several commands have: the machine, passes, schedules, how kernels are made, what graphs cost.
#include "options.hpp"

#include "goals.hpp"

namespace cli {

void add_target(CLI::App* to, std::string& target) {
    to->add_option(
        "--target", target,
        "machine of the kernels, e.g. x86-64-avx2 or x86-64-avx512,threads=8,l2=2M; `gsub doctor` tells the host's; "
        "where nothing runs, a GPU too: h200, sm_90");
}

void add_passes(CLI::App* to, std::string& list) {
    to->add_option("--passes", list,
                   "passes that run first, in place of the list `default`: names, lists and arguments, separated by "
                   "commas; what they leave ungrouped has a kernel of its own; `gsub passes` tells them")
        ->type_name("LIST");
}

void add_schedules(CLI::App* to, schedule_files& files) {
    to->add_option(
          "--schedules", files.schedules,
          "schedules and algorithms of kernels that stand in this file, which `gsub tasks` writes; others are counted")
        ->type_name("FILE");
    to->add_option("--records", files.records,
                   "tuning records, which `gsub tune` writes: the best of each kernel; others are counted")
        ->type_name("FILE")
        ->excludes(to->get_option("--schedules"));
}

void add_input_choice(CLI::App* to, input_choice& how) {
    to->add_option("--dim", how.dims, "size of a dimension that the model names, several times")
        ->type_name("NAME=8")
        ->expected(1)
        ->take_all();
    to->add_option("--shape", how.shapes, "sizes of an input, several times")
        ->type_name("NAME=1x3x224x224")
        ->expected(1)
        ->take_all();
    to->add_option("--value", how.values,
                   "value of an input, which becomes a constant: whole numbers, or a file; several times")
        ->type_name("NAME={3,4|FILE.npy}")
        ->expected(1)
        ->take_all();
}

void add_kernel_choice(CLI::App* to, kernel_choice& how) {
    to->add_option("--winograd", how.winograd,
                   "largest tiles of Winograd convolutions: f4 errs about twice as much as off")
        ->check(CLI::IsMember({"off", "f2", "f4"}));
    add_target(to, how.target);
    to->add_option("--dump-passes", how.dump_passes, "write what each pass of lowering made into this folder")
        ->type_name("DIR");
    add_passes(to, how.passes);
    add_schedules(to, how);
    to->add_flag("--compiled", how.compiled,
                 "compile all kernels with the system's compiler, those too that this program can emit in memory");
}

void add_device_choice(CLI::App* to, kernel_choice& how) {
    auto* const device =
        to->add_option("--device", how.device,
                       "device that runs generated kernels in place of this processor; `gsub doctor` lists them")
            ->type_name("{cuda:N,opencl:N}");
    to->add_flag("--device-only", how.device_only, "fail where a step has no kernel for the device")->needs(device);
    for (auto const* of_processors : {"--target", "--compiled", "--backend"})
        if (auto* const option = to->get_option_no_throw(of_processors)) device->excludes(option);
}

void add_cost_choice(CLI::App* to, cost_choice& how) {
    to->add_option("--cost", how.cost,
                   "cost model; lowered: the predicted time of the kernels that a build would make; fused: a roofline "
                   "over kernels in place of operators; table:FILE: costs from a file of JSON lines")
        ->type_name("{lowered,flops,bytes,roofline,fused,energy,peak_memory,measured,table:FILE}")
        ->check(CLI::Validator(
            [](std::string const& name) -> std::string {
                for (auto const* known :
                     {"lowered", "flops", "bytes", "roofline", "fused", "energy", "peak_memory", "measured"})
                    if (name == known) return {};
                return name.starts_with("table:") && name.size() > 6 ? "" : "there is no cost model " + name;
            },
            {}));
    to->add_option("--roofline", how.roofline,
                   "seconds a launch, FLOP/s, bytes/s; without: those that the profile has of this "
                   "machine, without one 5e-6,1e13,5e11")
        ->delimiter(',')
        ->expected(3)
        ->type_name("LAUNCH_S,FLOP_PER_S,BYTE_PER_S");
    to->add_option("--goal", how.goal,
                   "in place of a cost model: latency (lowered), memory (peak_memory), energy, flops, or several with "
                   "weights, in percent of the given graph: latency:0.7,energy:0.3")
        ->type_name("GOAL[:WEIGHT],...")
        ->check(CLI::Validator(
            [](std::string const& goal) -> std::string {
                auto const weights = weights_of(goal);
                return weights ? "" : weights.error().message();
            },
            {}))
        ->excludes(to->get_option("--cost"));
    to->add_option("--joules", how.joules, "energy of a FLOP and of a byte (2.3e-12,2.4e-10: not calibrated)")
        ->delimiter(',')
        ->expected(2)
        ->type_name("J_PER_FLOP,J_PER_BYTE");
    to->add_option("--split-cost", how.split_lowering, "whether the parts of a split are views or copies")
        ->check(CLI::IsMember({"free", "copy"}));
    to->add_option("--profile", how.profile,
                   "measured times are read from and added to this file; rates of `gsub calibrate` are read from it")
        ->type_name("FILE");
    to->add_option("--backend", how.backend, "what --cost measured times: operators one by one, or generated kernels")
        ->check(CLI::IsMember({"reference", "simd"}));
}

} // namespace cli
