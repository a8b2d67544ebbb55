# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A thin front over meson and ninja; `make help` lists what it can do.
BUILD ?= build
PREFIX ?= /usr/local
ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

all: ## build everything (default)
	@tools/deps --check build
	@tools/build $(BUILD)

deps: ## install the packages that the build and the tests need
	@tools/deps test

demo: ## install what the build needs, build, trace, record and report, look into a kernel
	@tools/deps build
	@tools/build $(BUILD)
	$(ROOT) $(BUILD)/gputap trace -- $(BUILD)/examples/vectoradd
	$(ROOT) $(BUILD)/gputap record -e cuda,sched -o $(BUILD)/streams.gtap -- $(BUILD)/examples/streams
	$(BUILD)/gputap report --top 3 --html $(BUILD)/streams.html $(BUILD)/streams.gtap
	$(BUILD)/gputap threadhist -- $(BUILD)/examples/uneven

check: ## install what tests need, build, run every check and test
	@tools/deps test
	@BUILD=$(BUILD) tools/check

check-guest: ## run the tests of kernels on each kernel of tools/guest, in QEMU
	@tools/deps test
	@BUILD=$(BUILD) tools/check guests

quick: ## run the unit tests of what changed since the last commit (REV=REVISION: since then)
	@BUILD=$(BUILD) tools/check --changed $(REV)

bench: all ## measure: medians of interleaved runs
	@BUILD=$(BUILD) bench/run

fuzz: ## fuzz every parser for 60 seconds (SECONDS_EACH=N for another time)
	@tools/deps test
	@tools/fuzz $(or $(SECONDS_EACH),60)

gpu-bundle: all ## pack build/gpu-bundle.tar.gz: tests for a machine with an NVIDIA GPU
	@rm -f $(BUILD)/gpu-bundle.tar.gz
	@tools/gpu-bundle $(BUILD)

install: all ## install below PREFIX (/usr/local); DESTDIR is honoured
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --quiet

clean: ## remove every build directory
	rm -rf $(BUILD) build-*

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

.PHONY: all deps demo check check-guest quick bench fuzz gpu-bundle install clean help
