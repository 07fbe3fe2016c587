"""``ncu-assist new``: from a .cu file to a folder that is read, builds and can be checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commandline import Run, files
from kernel_folder import write_kernel

from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.project import Project
from ncu_assist.sources import reference_problem
from ncu_assist.spec_file import load_kernel

KERNEL = """\
#include <cuda_runtime.h>
// __global__ void other(const float* x) {}
__global__ void __launch_bounds__(256) scale(const float* __restrict__ x, float *y, float by, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * by;
}
"""
LAUNCHED = """\
#include <cuda_runtime.h>
#include <cuda_fp16.h>
__global__ void rows(const __half* x, const int *index, double* sums, int m, int n) {}
extern "C" cudaError_t row_sums(const __half *x, const int *index, double *sums,
                                long long m, long long n, cudaStream_t stream) {
    rows<<<m, 256, 0, stream>>>(x, index, sums, m, n);
    return cudaGetLastError();
}
"""
TWO_SIDES = """\
#include <cuda_runtime.h>
__global__ void transpose_naive(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "naive.cu").write_text(KERNEL)
    (tmp_path / "launched.cu").write_text(LAUNCHED)
    return tmp_path


# The file, the name, and what is read of it: inputs, outputs with dtype, arguments, the file of the version.
READ = [
    ("naive.cu", "scale", "x", "y float32", "x y n", "v0_naive.cu"),
    ("launched.cu", "row_sums", "x index", "sums float64", "x index sums m n", "v0_launched.cu"),
]


@pytest.mark.parametrize(("source", "name", "inputs", "outputs", "arguments", "version"), READ)
@pytest.mark.parametrize("with_torch", [False, True])
def test_a_kernel_is_read_from_a_file(
    run: Run,
    folder: Path,
    source: str,
    name: str,
    inputs: str,
    outputs: str,
    arguments: str,
    version: str,
    with_torch: bool,
) -> None:
    before = (folder / source).read_text()
    answer = run("new", name, "--from", source, "--json", *(["--torch"] if with_torch else []))
    assert answer.code == 0, answer.err
    assert answer.json["left"][-1] == f"then: ncu-assist check {name}"
    kernel = load_kernel(Project(folder), name)
    workload = kernel.default_workload
    assert [one.name for one in kernel.workloads] == ["large", "odd"]
    assert " ".join(kernel.inputs) == inputs
    assert " ".join(f"{one.name} {kernel.dtype(one, workload)}" for one in kernel.outputs) == outputs
    assert " ".join(kernel.arguments) == arguments
    own = version.replace("v0", "v1") if with_torch else version
    assert [one.path.name for one in kernel.versions] == [*(["v0_torch.py"] if with_torch else []), own]
    assert (folder / source).read_text() == before
    assert (kernel.folder / own).read_text().startswith(before)
    compile((kernel.folder / "reference.py").read_text(), "reference.py", "exec")


def test_words_of_python_and_a_grid_with_a_y(run: Run, folder: Path) -> None:
    """``in`` is the commonest name in a course and a keyword in Python; rows and columns are both launched."""
    (folder / "transpose.cu").write_text(TWO_SIDES)
    assert run("new", "transpose", "--from", "transpose.cu", "--torch").code == 0
    kernel = load_kernel(Project(folder), "transpose")
    assert (kernel.inputs, kernel.arguments) == (("in_",), ("in_", "out", "rows", "cols"))
    for name in ("reference.py", "v0_torch.py"):
        compile((kernel.folder / name).read_text(), name, "exec")
    version = (kernel.folder / "v1_naive.cu").read_text()
    assert "<<<dim3((cols + 31) / 32, (rows + 7) / 8), dim3(32, 8), 0, stream>>>(in_, out, rows, cols)" in version
    assert 'torch.randn(workload["rows"], workload["cols"]' in (kernel.folder / "reference.py").read_text()


GUESSES = [  # a kernel's parameters and body -> grid, shape of the output, sizes of the two workloads
    (
        "const float* in, float* out, int width, int height, int r",
        "int y = blockIdx.x * 32 + threadIdx.x, x = blockIdx.y * 8 + threadIdx.y;"
        "if (x < width && y < height) out[y * width + x] = in[(y + r) * width + x];",
        "dim3((height + 31) / 32, (width + 7) / 8)",
        ("height", "width"),
        ({"width": 4096, "height": 4096, "r": 8}, {"width": 1021, "height": 769, "r": 8}),
    ),
    (
        "const float* A, const float* B, float* C, int M, int N, int K",
        "int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y; float s = 0;"
        "if (row >= M || col >= N) return; for (int k = 0; k < K; ++k) s += A[row * K + k] * B[k * N + col];"
        "C[row * N + col] = s;",
        "dim3((N + 31) / 32, (M + 7) / 8)",
        ("M", "N"),
        ({"M": 4096, "N": 4096, "K": 4096}, {"M": 1021, "N": 769, "K": 769}),
    ),
    (
        "const float* x, float* y, int rows, int cols",
        "int r = blockIdx.x * 256 + threadIdx.x; if (r >= rows) return;"
        "for (int j = 0; j < cols; ++j) y[r * cols + j] = x[r * cols + j];",
        "(rows + 255) / 256",
        ("rows", "cols"),
        ({"rows": 4096, "cols": 4096}, {"rows": 1021, "cols": 769}),
    ),
    (
        "const unsigned* x, unsigned int* y, int n",
        "int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = x[i];",
        "(n + 255) / 256",
        ("n",),
        ({"n": 1 << 24}, {"n": 1_000_003}),
    ),
]


@pytest.mark.parametrize(("parameters", "body", "grid", "shape", "sizes"), GUESSES)
def test_shapes_and_sizes_are_guessed_by_how_indices_are_used(
    run: Run,
    folder: Path,
    parameters: str,
    body: str,
    grid: str,
    shape: tuple[str, ...],
    sizes: tuple[dict[str, int], ...],
) -> None:
    """Rows first, whatever the order of parameters; a radius is no side; of an odd workload no array is too small."""
    (folder / "k.cu").write_text(f"__global__ void k({parameters}) {{ {body} }}")
    answer = run("new", "k", "--from", "k.cu")
    assert answer.code == 0, answer.err
    kernel = load_kernel(Project(folder), "k")
    assert f"<<<{grid}, " in (kernel.folder / "v0_naive.cu").read_text()
    assert [one.shape for one in kernel.outputs] == [shape]
    assert [{name: one.integers[name] for name in some} for one, some in zip(kernel.workloads, sizes, strict=True)] == [
        *sizes
    ]
    assert ("unsigned in C" in answer.err) == ("unsigned" in parameters)
    assert ("r = 8" in answer.err) == (", int r" in parameters and "rows" not in parameters)


INDICES = [
    (
        "int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;",
        "(n * 32 + 255) / 256",
        "a warp",
    ),
    ("int row = (blockIdx.x * 8 + threadIdx.x) >> 5;", "(n * 32 + 255) / 256", "a warp for each of n"),
    ("int row = blockIdx.x, t = threadIdx.x;", "n", "one for each of n"),
    ("int i = threadIdx.x + blockIdx.x * blockDim.x;", "(n + 255) / 256", "256 threads over n"),
]


@pytest.mark.parametrize(("index", "grid", "said"), INDICES)
def test_a_second_file_is_the_next_version(run: Run, folder: Path, index: str, grid: str, said: str) -> None:
    """Its launcher is guessed by what an index is made of; without --next the kernel that is there stays as it is."""
    (folder / "k.cu").write_text("__global__ void k(const float* x, float* y, int n) { y[blockIdx.x] = x[0]; }")
    (folder / "v7_other.cu").write_text(
        f"__global__ void k(const float* x, float* y, int n) {{ {index} y[0] = x[0]; }}"
    )
    assert "no kernel k to add a version to" in run("new", "k", "--from", "k.cu", "--next").err
    assert run("new", "k", "--from", "k.cu").code == 0
    refused = run("new", "k", "--from", "v7_other.cu")
    assert (refused.code, "new k --from v7_other.cu --next" in refused.err) == (2, True)
    answer = run("new", "k", "--from", "v7_other.cu", "--next")
    assert (answer.code, answer.out) == (0, "kernels/k/v1_other.cu\n")
    assert said in answer.err
    assert f"k<<<{grid}, 256, 0, stream>>>" in (folder / "kernels" / "k" / "v1_other.cu").read_text()
    assert [one.name for one in load_kernel(Project(folder), "k").versions] == ["v0_naive", "v1_other"]
    assert "try: ncu-assist profile k v0 v1" in run("diff", "k/v0", "v1").err  # a verdict takes both


@pytest.mark.parametrize(
    ("line", "is_read"),
    [
        ("y[i] = a * x[i] + y[i];", True),
        ("y[i] += a * x[i];", True),
        ("atomicAdd(&y[i % 4], x[i]);", True),
        ("load(&y[i]);", False),
        ("y[index[i]]\n = x[i];", False),
        ("if (y == nullptr) return; y[i] = x[i];", False),
        ("s.y[i] = s.y[i] + x[i]; y[i] = 0;", False),
        ("if (y[i] == 0) y[i] = x[i];", True),
    ],
)
def test_an_output_that_is_read_is_told(run: Run, folder: Path, line: str, is_read: bool) -> None:
    (folder / "axpy.cu").write_text(f"__global__ void axpy(int n, float a, const float* x, float* y) {{ {line} }}")
    answer = run("new", "axpy", "--from", "axpy.cu")
    assert answer.code == 0
    assert ("y is read and written, but an output holds NaN" in answer.err) == is_read


def test_a_reference_takes_the_inputs_of_kernel_toml(run: Run, folder: Path) -> None:
    run("new", "scale", "--from", "naive.cu")
    kernel = folder / "kernels" / "scale"
    reference = kernel / "reference.py"
    whole = reference.read_text().replace("raise NotImplementedError", "return")
    for taken, said in (("x, r", "reference takes (x, r), but inputs in kernel.toml are x"), ("x", ""), ("*all", "")):
        reference.write_text(whole.replace("def reference(x)", f"def reference({taken})"))
        assert reference_problem(kernel, ("x",)).partition(": ")[2] == said
        assert reference_problem(kernel) == ""


def test_a_reference_that_is_not_finished_is_said_without_a_gpu(run: Run, folder: Path) -> None:
    run("new", "scale", "--from", "naive.cu")
    assert "note: reference.py:17: reference is not written yet" in run("list", "scale").err
    reference = folder / "kernels" / "scale" / "reference.py"
    whole = reference.read_text()
    for text, said in (
        (whole.replace("def reference(x)", "def reference(in)"), "reference.py:17: invalid syntax"),
        (whole.replace("def reference(", "def result("), "reference.py does not define reference"),
        (whole.replace("raise NotImplementedError", "return"), ""),
    ):
        reference.write_text(text)
        err = run("list", "scale").err
        assert said in err if said else "reference.py" not in err


@pytest.mark.slow
@pytest.mark.parametrize(("source", "name"), [*((one[0], one[1]) for one in READ), ("bags.cu", "bags")])
def test_what_is_written_compiles_and_has_its_launcher(run: Run, folder: Path, source: str, name: str) -> None:
    (folder / "bags.cu").write_text(OF_LANES)
    try:
        find_nvcc()
    except EnvironmentProblem as error:
        pytest.skip(error.message)
    run("new", name, "--from", source)
    answer = run("check", name)
    assert "built, but not checked: v0_" in answer.err + answer.out


OF_LANES = """#include <cuda_runtime.h>
constexpr int THREADS = 128, LANES = 16;
extern "C" __global__ void bags(const float* x, float* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    if (row < rows && threadIdx.x % LANES == 0) y[row] = x[row];
}
int main() { bags<<<8, THREADS>>>(nullptr, nullptr, 0); }
"""


@pytest.mark.parametrize(
    ("changed", "launch"),
    [
        (("", ""), "<<<(rows * LANES + THREADS - 1) / THREADS, THREADS, 0, stream>>>"),
        (("/ LANES", ">> 3"), "<<<(rows * 8 + THREADS - 1) / THREADS, THREADS, 0, stream>>>"),
        (("/ LANES", "/ rows"), "<<<(rows + THREADS - 1) / THREADS, THREADS, 0, stream>>>"),
        (("<<<8, THREADS>>>", "<<<dim3(8), 64, 0, 0>>>"), "<<<(rows * LANES + 63) / 64, 64, 0, stream>>>"),
        (("<<<8, THREADS>>>", "<<<8, threads>>>"), "<<<(rows * LANES + 255) / 256, 256, 0, stream>>>"),
    ],
)
def test_a_launcher_goes_by_how_the_file_launches_its_kernel(
    run: Run, folder: Path, changed: tuple[str, str], launch: str
) -> None:
    (folder / "bags.cu").write_text(OF_LANES.replace(*changed))
    assert run("new", "bags", "--from", "bags.cu").code == 0
    made = (folder / "kernels" / "bags" / "v0_naive.cu").read_text()
    assert launch in made
    assert made.count('extern "C"') == 1, "C has one function of a name: the launcher"


def test_a_kernel_in_the_form_of_another(run: Run, folder: Path) -> None:
    write_kernel(folder)
    other = folder / "kernels" / "add_one"
    (other / "v1_naive.cu").write_text("")
    shutil.copy(other / "reference.py", other / "notes.py")
    assert run("new", "add_two", "--like", "add_one").code == 0
    made = folder / "kernels" / "add_two"
    assert {path.name for path in made.iterdir()} == {"kernel.toml", "reference.py", "v0_torch.py"}
    assert "def add_two(x, y)" in (made / "v0_torch.py").read_text()


def test_the_form_of_a_kernel_that_comes_with_the_tool(run: Run, folder: Path) -> None:
    answer = run("new", "my_decode", "--like", "lightning_decode")
    assert answer.code == 0, answer.err
    assert {path.name for path in (folder / "kernels" / "my_decode").iterdir()} == {
        "kernel.toml", "reference.py", "v0_torch_eager.py"
    }  # fmt: skip
    assert "my_decode" in run("list").out
    assert run("new", "soft", "--like", "softmax").code == 0
    made = [path.read_text() for path in (folder / "kernels" / "soft").glob("*.py")]
    assert any("torch.softmax(" in text for text in made), "what is torch's keeps its name"
    assert not any("measured:" in text or "expected:" in text for text in made)


TEMPLATE = "template <typename T>\n__global__ void f(const T* x, T* y, int n) {}\n"
# What is typed, what is said, and what is to be tried; nothing is written.
WRONG = [
    (["f"], "no source was named", "ncu-assist new f --from FILE.cu"),
    (["f", "--from", "naive.cu", "--like", "add_one"], "--from and --like exclude each other", "ncu-assist new f"),
    (["f", "--like", "add_one", "--torch"], "--torch needs --from", "drop --torch"),
    (["f", "--from", "0123456789.cu"], "there is no file '0123456789.cu'; known: ", "name a .cu file"),
    (["f", "--from", "none/x.cu"], "there is no file 'none/x.cu'; that folder has no .cu file", "name a .cu file"),
    (["f", "--from", "naiv.cu"], "there is no file 'naiv.cu'; did you mean 'naive.cu'?", "new f --from naive.cu"),
    (["f", "--from", "naive.py"], "naive.py is Python", "--like softmax; what it needs: ncu-assist explain version"),
    (["f", "--from", "bytes.cu"], "bytes.cu is not UTF-8 text", "name a .cu file"),
    (["f", "--from", "."], ". is not a .cu file", "name a .cu file"),
    (["f", "--from", "empty.cu"], "empty.cu has no __global__ function", "that has the kernel"),
    (["f", "--from", "two.cu"], "two.cu has several kernels, a, b", 'write extern "C" cudaError_t f('),
    (["f", "--from", "template.cu"], "f in template.cu is a template", 'write extern "C" cudaError_t f('),
    (["f", "--from", "launched.cu"], "is called row_sums", "ncu-assist new row_sums --from launched.cu"),
    (["f", "--from", "inplace.cu"], "no pointer to const", "declare inputs as const T*"),
    (["f", "--from", "reads.cu"], "no other pointer, so it has no output", "declare inputs as const T*"),
    (["f", "--from", "struct.cu"], "x points to float4", "write extern"),
    (["f", "--from", "scalar.cu"], "takes float by", "set by inside the launcher"),
    (["for", "--from", "naive.cu"], "'for' cannot be a function name", "ncu-assist new"),
    (["a-b", "--from", "naive.cu"], "'a-b' cannot be a function name", "new a_b --from naive.cu"),
    (["2x", "--from", "naive.cu"], "did you mean 'kernel_2x'?", "ncu-assist new kernel_2x --from naive.cu"),
    (["../x", "--from", "naive.cu"], "cannot be a function name", "ncu-assist new"),
    (["add_one", "--from", "naive.cu"], "kernel add_one already exists", "add_one --from naive.cu --next"),
    (
        ["f", "--like", "nosuch"],
        "there is no kernel 'nosuch'; known: add_one, add_relu",
        "ncu-assist new f --like softmax",
    ),
    (
        ["f", "--like", "add_on"],
        "'add_on'; did you mean 'add_one'?",
        "ncu-assist new f --like add_one",
    ),
]
SOURCES = {
    "naive.py": "",
    "empty.cu": "int main() {}",
    "two.cu": "__global__ void a(const int* x, int* y) {}\n__global__ void b(const int* x, int* y) {}\n",
    "template.cu": TEMPLATE,
    "inplace.cu": "__global__ void f(float* x, int n) {}",
    "reads.cu": "__global__ void f(const float* x, int n) {}",
    "struct.cu": "__global__ void f(const float4* x, float4* y, int n) {}",
    "scalar.cu": 'extern "C" cudaError_t f(const float* x, float* y, float by, cudaStream_t s) {}',
}


@pytest.mark.parametrize(("words", "said", "tried"), WRONG, ids=str)
def test_what_cannot_be_a_kernel_is_told_and_nothing_is_written(
    run: Run, folder: Path, words: list[str], said: str, tried: str
) -> None:
    write_kernel(folder)
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    (folder / "bytes.cu").write_bytes(b"\xff\xfe\x00")
    before = files(folder)
    answer = run("new", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert tried in answer.err.partition("try: ")[2]
    assert files(folder) == before
