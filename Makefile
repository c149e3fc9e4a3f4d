# Each verb works on a fresh machine: the first use creates .venv and installs what is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
GL_PACKAGES := libegl1 libgl1 libgl1-mesa-dri libosmesa6
WORKERS ?= 2
# One worker per core, one thread per worker: threads of several workers would wait for each other.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: demo test check format bench bench-learning bench-encoders bench-pixels slow golden docs clean gl chromium

demo: $(VENV)/.installed gl
	$(BIN)/jostle demo --out demo

test: $(VENV)/.installed gl chromium
	$(PYTEST)

check: $(VENV)/.installed
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST)

format: $(VENV)/.installed
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: $(VENV)/.bench gl
	$(BIN)/python benchmarks/environments.py --out docs/results

bench-learning: $(VENV)/.slow
	$(BIN)/python benchmarks/learning.py --out docs/results
	$(BIN)/python benchmarks/fit.py --out docs/results
	$(BIN)/python benchmarks/update_speed.py --out docs/results

bench-encoders: $(VENV)/.installed
	$(BIN)/python benchmarks/encoders.py --out docs/results

bench-pixels: $(VENV)/.installed gl
	$(BIN)/python benchmarks/pixels.py --out docs/results

slow: $(VENV)/.slow gl
	$(BIN)/python -m pytest -m slow

# Golden results bit for bit: on the processor that wrote them.
golden: $(VENV)/.installed gl
	GOLDEN_BITS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/golden
	OMP_NUM_THREADS=1 $(BIN)/python tests/golden/zoo.py

# Images first, then the site in build/site; a warning is an error.
docs: $(VENV)/.installed gl
	$(BIN)/jostle docs --out docs
	$(BIN)/python -m sphinx -W --keep-going -q docs build/site
	@echo "build/site/index.html"

clean:
	rm -rf $(VENV) demo build src/*.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	@touch $@

$(VENV)/.slow: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[slow]'
	@touch $@

# Headless drawing needs a software OpenGL: install it when we may, say what to do when not.
gl:
	@if ldconfig -p 2>/dev/null | grep -q libEGL.so.1 && ls /usr/lib/*/dri/*swrast* >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(GL_PACKAGES) >/dev/null; \
	else echo "Drawing needs a software OpenGL. Please run: sudo apt-get install $(GL_PACKAGES)"; fi

# Tests of the playground open a real browser.
chromium:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	else echo "Tests of the playground need a browser. Please run: sudo apt-get install chromium"; fi
