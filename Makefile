# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One thread per test process: two cores, two processes.
# Compiled modules are kept: the tests start many processes, and each would compile the package again.
TEST_ENV := OMP_NUM_THREADS=1 MPLBACKEND=Agg PYTHONDONTWRITEBYTECODE=

.PHONY: docs links demo studio test check slow torture format clean bench bench-flops

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

demo: $(VENV)/.installed  ## train on the embedded sprites, evaluate, write a report
	rm -rf runs/toy-sprites/dsvae/0
	$(BIN)/unbraid fit toy-sprites --max-minutes 4
	$(BIN)/unbraid evaluate runs/toy-sprites/dsvae/0
	$(BIN)/unbraid report runs/toy-sprites/dsvae/0

studio: $(VENV)/.installed  ## open the demo model in a browser; train it first if it is not there
	test -f runs/toy-sprites/dsvae/0/model.json || $(BIN)/unbraid fit toy-sprites --max-minutes 4
	$(BIN)/unbraid studio runs/toy-sprites/dsvae/0

test: $(VENV)/.installed  ## the test suite, without trainings that take minutes
	$(TEST_ENV) $(BIN)/pytest -q -n 2 -m "not slow"

slow: $(VENV)/.installed  ## tests that train for minutes
	$(TEST_ENV) $(BIN)/pytest -q -m slow

# Without shape checks: they are not what is tested, and slow.
torture: $(VENV)/.installed  ## kills, full disks, malformed inputs, several processes: see docs/reliability.md
	rm -f torture.txt
	$(TEST_ENV) UNBRAID_TORTURE=1 $(BIN)/pytest -q -o addopts="" tests/torture
	@cat torture.txt

# make bench [METHODS="dbse spyl"] [PRESETS=sprites/fast] [PARTS=speed] [PRECISIONS=bf16] [QUICK=1] [BASELINE=DIR]
bench: $(VENV)/.installed  ## speed, memory, FLOPs, growth; see benchmarks/README.md
	@$(BIN)/python -m benchmarks.run $(if $(METHODS),--methods $(METHODS)) \
	  $(if $(PRESETS),--presets $(PRESETS)) $(if $(PARTS),--parts $(PARTS)) \
	  $(if $(PRECISIONS),--precisions $(PRECISIONS)) $(if $(QUICK),--quick) $(if $(BASELINE),--baseline "$(BASELINE)")

bench-flops:  ## FLOPs per training step as JSON lines, and nothing else on standard output
	@$(MAKE) --silent $(VENV)/.installed >&2
	@$(BIN)/python -m benchmarks.flops $(if $(METHODS),--methods $(METHODS)) \
	  $(if $(PRESETS),--presets $(PRESETS))

check: $(VENV)/.installed  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/pip install --quiet -c constraints.txt -e ".[docs]"
	touch $@

docs: $(VENV)/.docs  ## the documentation site, docs/_build/html; warnings are errors
	$(TEST_ENV) $(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html

links: $(VENV)/.docs  ## check that the links of the documentation lead somewhere; asks the network
	$(TEST_ENV) $(BIN)/sphinx-build -q -b linkcheck docs docs/_build/links

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache
