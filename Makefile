# SPDX-License-Identifier: Apache-2.0

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# One way to compile for all that is built here, so that packages which programs, tests and images share are compiled once.
export CGO_ENABLED ?= 0
export GOFLAGS ?= -trimpath

# go.work lists the modules; hack/modules prints them, and everything below goes over that one list.
PACKAGES = $$(hack/modules | sed 's|.*|./&/...|')

# What `make demo` runs, with CHECK in its environment.
DEMO = ./operators/barbican/demo

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Converge a Barbican on a real API server, here (CHECK=1: exit once it is Ready, or tell why not)
	@KUBEBUILDER_ASSETS=$$(hack/control-plane); export KUBEBUILDER_ASSETS; \
	hack/compile demo -o bin/demo $(DEMO); exec bin/demo

.PHONY: test
test: ## Run the unit and API server tests of every module; needs no node and no root (TESTFLAGS="-race -run Name")
	@hack/test

.PHONY: test-barbican
test-barbican: ## Prove every golden configuration against the real, packaged Barbican; needs root
	@hack/test-barbican

.PHONY: e2e
e2e: ## Run the end-to-end suites on a real cluster, with real services; needs root unless KUBECONFIG is set (SUITES="sealed" for some)
	@hack/e2e $(SUITES)

.PHONY: cluster
cluster: ## Bring up a cluster of one node, here, and print its kubeconfig (with KUBECONFIG set: use that one); needs root
	@hack/cluster/up

.PHONY: cluster-infra
cluster-infra: ## Install what the end-to-end suites share on it: operators, Keystone, the central key store
	@tests/infra/up

.PHONY: cluster-down
cluster-down: ## Take that cluster away, with everything in it
	@hack/cluster/down

.PHONY: bench
bench: ## Measure the operator and hold it to its gates (N=1000 for one size)
	@hack/bench

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME (30s) each
	@hack/fuzz

.PHONY: build
build: ## Compile everything, and the operator into bin/
	@go build $(PACKAGES)
	@for operator in operators/*; do go build -o "bin/$$(basename "$$operator")-operator" "./$$operator"; done

.PHONY: generate
generate: ## Write deepcopy functions, CRDs and the tables of the documentation
	@hack/generate

.PHONY: verify
verify: ## Prove that nothing is stale, misplaced or untested (CHECKS="layers lint" for some)
	@hack/verify/run $(CHECKS)

.PHONY: lint
lint: ## Run golangci-lint over every module
	@hack/verify/lint
