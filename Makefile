# make run and make test need no set-up; make help lists the rest.

GO      ?= go
VERSION ?= $(patsubst v%,%,$(shell git describe --tags --always --dirty 2>/dev/null || echo unknown))
DIR     ?=
ARGS    ?=
FUZZTIME ?= 20s

BIN   := bin/serve-web
TOOL   = $(GO) tool -modfile=tools/go.mod
ROOT   = $(shell [ "$$(id -u)" = 0 ] || echo sudo)
APT    = $(ROOT) env DEBIAN_FRONTEND=noninteractive apt-get
DRIVER := .e2e/driver
SUITE := mcp/testdata/conformance

.DEFAULT_GOAL := help
.PHONY: help run build install-plugin test unit e2e soak conformance check lint targets vulnerabilities bench fuzz image clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The shell reads DIR itself: a name of a directory may hold anything.
run: export DIR := $(DIR)
run: build ## build and serve the workspace here, or at DIR=…, or else the demo (ARGS="--port 0 …")
	@dir=$$DIR; case "$$dir" in '~/'*) dir=$$HOME/$${dir#'~/'};; esac; at=$$PWD; \
	while [ ! -d "$$at/.jp" ] && [ "$$at" != / ]; do at=$$(dirname "$$at"); done; \
	if [ -n "$$dir" ]; then exec $(BIN) $(ARGS) "$$dir"; \
	elif [ -d "$$at/.jp" ]; then exec $(BIN) $(ARGS); \
	else exec $(BIN) --demo $(ARGS); fi

build: ## build the static binary bin/serve-web
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN) ./cmd/serve-web

# A file that runs cannot be written, but it can be replaced.
install-plugin: build ## install it as JP's plugin jp serve web, for this user (docs/plugin.md)
	@data=$${JP_USER_DATA_DIR:-}; \
	if [ -z "$$data" ]; then case "$${XDG_DATA_HOME:-}" in \
		/*) data=$$XDG_DATA_HOME/jp;; \
		*) [ "$$(uname)" = Darwin ] && data="$$HOME/Library/Application Support/jp" || data=$$HOME/.local/share/jp;; \
	esac; fi; \
	to=$$data/plugins/command/jp-serve-web; mkdir -p "$$(dirname "$$to")" && \
	cp $(BIN) "$$to.new" && chmod 755 "$$to.new" && mv -f "$$to.new" "$$to" && echo "installed $$to"

test: unit e2e ## run every test, with the race detector and in a browser; install what they need

# The browser tests skip themselves here: they have no driver.
unit: node_modules/.package-lock.json
	@command -v gcc >/dev/null || { $(APT) update -qq && $(APT) install -y -qq --no-install-recommends gcc libc6-dev; }
	CGO_ENABLED=1 $(GO) test -race ./...
	@# What is measured in time and memory is measured without the race detector.
	$(GO) test ./markdown ./web

e2e: node_modules/.package-lock.json
	@command -v chromium >/dev/null || { $(APT) update -qq && $(APT) install -y -qq --no-install-recommends chromium fonts-liberation; }
	@mkdir -p $(DRIVER) && ln -sfn ../../node_modules/playwright-core $(DRIVER)/package
	PLAYWRIGHT_DRIVER_PATH="$$PWD/$(DRIVER)" PLAYWRIGHT_NODEJS_PATH="$$(command -v node)" $(GO) test -count=1 ./e2e

SOAKTIME ?= 10m
soak: ## follow a log that is written, renamed, cut and removed for SOAKTIME (10m), with many clients and restarts
	FOLLOW_FOR=$(SOAKTIME) CGO_ENABLED=1 $(GO) test -race -count=1 -timeout 0 -run '^TestFollowWriter$$' -v ./e2e

node_modules/.package-lock.json: package.json package-lock.json
	@command -v npm >/dev/null || { echo 'make test needs Node with npm: https://nodejs.org, or apt-get install nodejs npm' >&2; exit 1; }
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

# The suite needs Node 22; where there is an older one, it brings its own.
conformance: $(SUITE)/node_modules/.package-lock.json ## hold the MCP server to the protocol's own suite
	SERVE_WEB_NODE="$$(echo "$$PWD"/$(SUITE)/node_modules/node-linux-*/bin/node | grep -v '*' || command -v node)" \
	SERVE_WEB_CONFORMANCE="$$PWD/$(SUITE)/node_modules/@modelcontextprotocol/conformance/dist/index.js" \
	$(GO) test -count=1 -run '^TestConformance$$' ./mcp

$(SUITE)/node_modules/.package-lock.json: $(SUITE)/package.json $(SUITE)/package-lock.json
	@command -v npm >/dev/null || { echo 'make conformance needs Node with npm: https://nodejs.org, or apt-get install nodejs npm' >&2; exit 1; }
	@[ "$$(node -p 'parseInt(process.versions.node)')" -ge 22 ] && old=--omit=optional || old=; \
	cd $(SUITE) && npm ci --ignore-scripts --no-audit --no-fund $$old
	@touch $@

check: lint targets vulnerabilities test conformance ## everything above and: format, vet, staticcheck, generated code, modules, vulnerabilities

lint: node_modules/.package-lock.json
	@files=$$(git ls-files -z '*.go' | xargs -0 gofmt -l) && [ -z "$$files" ] || { echo "not formatted (gofmt -w): $$files" >&2; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(TOOL) templ generate -check
	$(GO) mod tidy -diff
	$(GO) mod verify
	npx --no-install dockerfile-utils lint Dockerfile

# What is released: the program is built for each, and must hold JP's manifest.
targets:
	SERVE_WEB_TARGETS='linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64' $(GO) test -count=1 -timeout 30m -run '^TestManifest$$' ./cmd/serve-web

# A finding fails. That the database cannot be reached is said, and passes.
vulnerabilities:
	@out=$$($(TOOL) govulncheck ./... 2>&1) && code=0 || code=$$?; echo "$$out"; \
	case "$$out" in *'fetching vulnerabilities: Get '*) \
		echo 'The database of vulnerabilities could not be reached: nothing was checked.' >&2; code=0;; \
	esac; exit $$code

bench: ## measure: one table of ratios and their goals, in about eight minutes (docs/performance.md)
	@.ci/bench

fuzz: ## fuzz every fuzz target for FUZZTIME each (20s)
	@set -eu; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

image: ## build the container image serve-web with Docker
	docker build --build-arg VERSION=$(VERSION) -t serve-web .

clean: ## remove what was built and installed here
	rm -rf bin .e2e node_modules e2e/artifacts $(SUITE)/node_modules
