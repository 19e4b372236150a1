"""The rules of the architecture: who may import whom, what importing costs, what is exported.

This is the one place where the layers stand; `docs/architecture.md` explains them.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import semsearch

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "semsearch"

# A module may import from its own layer and from those before it. The package itself only gathers what others offer.
LAYERS = [
    # 0 vocabulary
    {"errors", "identifiers", "paper", "person_names", "cleaning", "merging", "filters", "ranking", "fusion",
     "encoding", "progress", "sentences", "spelling", "version"},
    # 1 sources and sinks
    {"readers", "writers", "models", "model_loading", "calibration", "half_precision", "encoder", "exported", "rerank",
     "sample"},
    # 2 storage
    {"index"},
    # 3 use cases
    {"provider", "document_encoder", "export_process", "encoding_pool", "intake",
     "vectorise", "publish", "publish_vectors", "first_generation", "folding", "encoding_queue", "encoding_on",
     "summary", "build_options", "build", "reindex", "maintenance", "reading",
     "known_vectors", "on_demand", "nearness", "candidates", "asking", "answering", "search", "neighbours",
     "duplicates", "watching", "highlight", "explanation", "shards", "engines"},
    # 4 measuring
    {"evaluation"},
    # 5 front ends
    {"server", "cli", "__main__", ""},
]

# Each third party has one door. ANYWHERE is for what all layers speak.
ANYWHERE = ("semsearch",)
DOORS = {
    "numpy": ANYWHERE,
    "platformdirs": ("semsearch.models",),
    "faiss": ("semsearch.index.faiss_structure", "semsearch.index.ivf_lists"),
    "tantivy": ("semsearch.index",),
    "sqlite3": ("semsearch.index",),
    "portalocker": ("semsearch.index",),
    "zstandard": ("semsearch.readers",),
    "pyarrow": ("semsearch.readers.parquet",),
    "pylatexenc": ("semsearch.cleaning",),
    "sentence_transformers": ("semsearch.encoder", "semsearch.exported.export", "semsearch.rerank"),
    "torch": ("semsearch.encoder", "semsearch.half_precision", "semsearch.exported.export"),
    "onnxruntime": ("semsearch.exported",),
    "tokenizers": ("semsearch.exported.session",),
    "transformers": ("semsearch.model_loading",),
    "huggingface_hub": ("semsearch.models", "semsearch.model_loading"),
    "click": ("semsearch.cli",),
    "ir_measures": ("semsearch.evaluation",),
    "ray": ("semsearch.engines.ray",),
    "fastapi": ("semsearch.server",),
    "starlette": ("semsearch.server",),
    "pydantic": ("semsearch.server",),
    "uvicorn": ("semsearch.server",),
    "tqdm": ("semsearch.cli",),
}

# Slow to import, so left alone until something is computed.
HEAVY = {"numpy", "pyarrow", "torch", "transformers", "faiss", "sentence_transformers", "onnxruntime", "tokenizers",
         "scipy", "sklearn", "tantivy"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported_names(module: str) -> Iterator[tuple[str, int]]:
    """Yield (dotted name, line) of every import in a module, inside functions too, relative ones resolved."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{origin}.{alias.name}"
                yield inner if inner in MODULES else origin, node.lineno


def imports(module: str) -> list[tuple[str, int]]:
    return list(imported_names(module))


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def layer(module: str) -> int:
    top = [*module.split("."), ""][1]
    for number, tops in enumerate(LAYERS):
        if top in tops:
            return number
    pytest.fail(f"{module} stands in no layer: give it one in {Path(__file__).name}")


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module):
    wrong = [f"{MODULES[module].relative_to(ROOT)}:{line} imports {name}, which is above it"
             for name, line in imports(module)
             if within(name, ("semsearch",)) and layer(name) > layer(module)]
    assert not wrong


def test_no_modules_import_each_other_in_a_circle():
    graph = {module: {name for name, _ in imports(module) if name in MODULES} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"circle: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("module", MODULES)
def test_each_third_party_has_one_door(module):
    wrong = []
    for name, line in imports(module):
        top = name.partition(".")[0]
        where = f"{MODULES[module].relative_to(ROOT)}:{line}"
        if top in DOORS:
            if not within(module, DOORS[top]):
                wrong.append(f"{where} imports {top}, whose door is {' or '.join(DOORS[top])}")
        elif top != "semsearch" and top not in sys.stdlib_module_names:
            wrong.append(f"{where} imports {top}, which has no door")
    assert not wrong


def modules_loaded_by(code: str) -> set[str]:
    """Return the top-level modules that are loaded in a new interpreter after `code`."""
    report = "import sys; print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def run_in_process(*arguments: str) -> str:
    return ("import sys\n"
            "from semsearch.cli import main\n"
            f"sys.argv = ['semsearch', *{list(arguments)!r}]\n"
            "try:\n"
            "    main()\n"
            "except SystemExit as exit:\n"
            "    assert not exit.code, exit.code\n")


@pytest.mark.parametrize("code", [
    pytest.param("import semsearch", id="import semsearch"),
    pytest.param("import semsearch.cli", id="import semsearch.cli"),
    pytest.param(run_in_process("--version"), id="semsearch --version"),
    pytest.param(run_in_process("--help"), id="semsearch --help"),
])
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    assert not modules_loaded_by(code) & HEAVY


def test_torch_is_not_imported_to_explain_a_command():
    assert not modules_loaded_by(run_in_process("build", "--help")) & {"torch", "transformers", "sentence_transformers"}


@pytest.mark.parametrize("module", MODULES)
def test_every_module_imports_and_offers_what_it_exports(module):
    loaded = importlib.import_module(module)
    missing = [name for name in getattr(loaded, "__all__", ()) if not hasattr(loaded, name)]
    assert not missing


def test_the_package_lists_its_public_names():
    assert sorted(set(semsearch.__all__)) == sorted(semsearch.__all__)
    assert set(semsearch.__all__) <= set(dir(semsearch))
    assert not {f"semsearch.{name}" for name in semsearch.__all__} & set(MODULES)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout: git cannot say what belongs to the project")
def test_no_file_mentions_a_path_of_the_machine_it_was_written_on():
    list_files = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(list_files, cwd=ROOT, check=True, capture_output=True)
    private = re.compile(rb"(?<![\w.])/(?:work|farm|root)/")
    files = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    assert files
    assert not [str(file.relative_to(ROOT)) for file in files if file.is_file() and private.search(file.read_bytes())]
