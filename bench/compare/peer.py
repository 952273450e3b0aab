"""What compare.py runs in its virtual environment, a process a call. The answer is one line of JSON.

peer.py inputs MODEL FOLDER                            seeded inputs as .npy files; bytes of the weights
peer.py time ENGINE MODEL THREADS SECONDS INPUTS       median latency
peer.py once ENGINE MODEL THREADS FOLDER INPUTS        outputs as .npy files; peak memory
peer.py errors REFERENCE FOLDER                        how far the outputs in two folders are apart
peer.py serve ENGINE                                   one thread; requests are lines of JSON, and so are answers:
    {"load": MODEL, "inputs": {NAME: FILE}, "outputs": FOLDER}     keeps the model, runs it once
    {"time": MODEL, "seconds": S}                                  microseconds, the median
    {"errors": [REFERENCE, FOLDER]}"""

import json
import pathlib
import sys
import time

import numpy as np


def package(engine):
    return __import__(engine.partition("_")[0])


def session(engine, model, threads):
    """A function from named inputs to a list of outputs, in the model's order."""
    if engine in ("onnxruntime", "onnxruntime_plain"):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        if engine == "onnxruntime_plain":
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        made = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return lambda values: made.run(None, values)
    import openvino as ov
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
                                                      "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()

    def run(values):
        request.infer(values, share_inputs=True, share_outputs=True)
        return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]
    return run


def loaded(inputs):
    return {name: np.load(file) for name, file in json.loads(inputs).items()}


def median_time(engine, model, threads, seconds, inputs):
    values, run = loaded(inputs), session(engine, model, int(threads))
    for _ in range(3):
        run(values)
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < float(seconds) or len(times) < 5:
        begin = time.perf_counter()
        run(values)
        times.append(time.perf_counter() - begin)
    return {"ms": sorted(times)[len(times) // 2] * 1e3, "version": package(engine).__version__}


def resident(key):
    """Bytes: VmRSS is what is resident now, VmHWM the most so far."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


def once(engine, model, threads, folder, inputs):
    package(engine)
    try:  # what importing took at its height and gave back is not the model's
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
    before = resident("VmRSS")
    outputs = session(engine, model, int(threads))(loaded(inputs))
    peak = resident("VmHWM")
    pathlib.Path(folder).mkdir(exist_ok=True)
    for i, value in enumerate(outputs):
        np.save(f"{folder}/output_{i}.npy", value)
    return {"outputs": len(outputs), "bytes": peak - before}


class Bound:
    """A model of which a call costs little: inputs and outputs stay where they are. `openvino_convolution` tells how long
    the convolution took, which leaves out what OpenVINO does to its operands."""

    def __init__(self, engine, model, inputs):
        self.values, self.node = loaded(json.dumps(inputs)), None
        if engine == "onnxruntime":
            import onnxruntime as ort
            options = ort.SessionOptions()
            options.intra_op_num_threads, options.log_severity_level = 1, 3
            made = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self.outputs = made.run(None, self.values)
            self.bound = made.io_binding()
            self.memory = [ort.OrtValue.ortvalue_from_numpy(v) for v in [*self.values.values(), *self.outputs]]
            for name, value in zip(self.values, self.memory):
                self.bound.bind_ortvalue_input(name, value)
            for output, value in zip(made.get_outputs(), self.memory[len(self.values):]):
                self.bound.bind_ortvalue_output(output.name, value)
            self.run = lambda: made.run_with_iobinding(self.bound)
            return
        import openvino as ov
        compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32",
                                                          "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "PERF_COUNT": engine == "openvino_convolution"})
        request = compiled.create_infer_request()
        for name, value in self.values.items():
            request.set_tensor(name, ov.Tensor(value, shared_memory=value.ndim > 0))
        self.run = lambda: request.infer()
        self.run()
        self.outputs = [request.get_output_tensor(i).data.copy() for i in range(len(compiled.outputs))]
        if engine == "openvino_convolution":
            self.node = lambda: next(n.real_time for n in request.get_profiling_info() if n.node_type.endswith("Convolution"))

    def time(self, seconds):
        for _ in range(3):
            self.run()
        times, start = [], time.perf_counter()
        while time.perf_counter() - start < seconds or len(times) < 5:
            begin = time.perf_counter()
            self.run()
            end = time.perf_counter()
            times.append(self.node().total_seconds() if self.node else end - begin)
        return {"us": sorted(times)[len(times) // 2] * 1e6, "runs": len(times)}


def serve(engine):
    models = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "load" in request:
                model = models[request["load"]] = Bound(engine, request["load"], request["inputs"])
                for i, value in enumerate(model.outputs):
                    np.save(f"{request['outputs']}/output_{i}.npy", value)
                answer = {}
            elif "time" in request:
                answer = models[request["time"]].time(request["seconds"])
            else:
                answer = errors(*request["errors"])
        except (Exception, SystemExit) as failed:
            answer = {"error": str(failed)[:300]}
        print(json.dumps(answer), flush=True)
    return {}


def make_inputs(model, folder):
    """Values for every input that is no initializer: normal, or 0 and 1 for integers, which any index allows."""
    import onnx
    graph = onnx.load(model, load_external_data=False).graph
    stored, r, made = {i.name for i in graph.initializer}, np.random.default_rng(1), {}
    pathlib.Path(folder).mkdir(exist_ok=True)
    for i, value in enumerate(v for v in graph.input if v.name not in stored):
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        dims = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
        file = f"{folder}/input_{i}.npy"
        np.save(file, (r.standard_normal(dims) if kind.kind == "f" else r.integers(0, 2, dims)).astype(kind))
        made[value.name] = file
    size = lambda t: int(np.prod(list(t.dims))) * onnx.helper.tensor_dtype_to_np_dtype(t.data_type).itemsize
    return {"inputs": made, "weights": sum(map(size, graph.initializer))}


def errors(reference, folder):
    """Each of the two errors is that of the output where it is largest; null where it is no number."""
    found = {"max": 0.0, "mean": 0.0}
    for file in sorted(pathlib.Path(reference).glob("output_*.npy")):
        b = np.load(file).astype(np.float64)
        a = np.load(f"{folder}/{file.name}").astype(np.float64)
        if a.shape != b.shape:
            sys.exit(f"{folder}/{file.name}: shape {a.shape}, the reference has {b.shape}")
        apart = np.abs(a - b)
        for key, of in (("max", np.max), ("mean", np.mean)):
            size = of(np.abs(b)) if b.size else 0.0
            error = of(apart) / size if size else float(apart.any())
            found[key] = float(np.maximum(found[key], error))  # a NaN stays
    return {key: error if np.isfinite(error) else None for key, error in found.items()}


if __name__ == "__main__":
    calls = {"inputs": make_inputs, "time": median_time, "once": once, "errors": errors,
             "serve": serve}
    print(json.dumps(calls[sys.argv[1]](*sys.argv[2:])))
