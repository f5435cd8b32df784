# make            build bin/deskhand
# make demo       build, index the manual, start a server, ask it three questions
# make test       all tests, those of packages with the race detector
# make race       the same, and each program that they start is checked too (twice the time)
# make check      what CI runs: format, vet, staticcheck, tests, golden files, builds
# make golden     rewrite the golden files; review them as a diff
# make eval [SETS=file]   measure what each part of the ranking adds, and compare with the scores agreed on
# make ranking SETS=file  the same, written into docs/ranking.md and its chart
# make bench      the benchmarks
# make bench-corpus [CORPUS=docs QUERIES=file]   what a corpus costs to build and serve
# make fuzz       30 s of each fuzz test
# make test-agents [AGENTS="claude codex"]   drive real coding agents, with a scripted model (needs npm)
# make received [CLIENTS="claude gemini"] [TABLE=docs/clients.md]   what real MCP clients hand their model of every tool (needs Node.js 20 and npm)
# make model TEXTS=dir   train the shipped model anew; dir has a folder of markdown for each repository of SOURCES.md
# make multilingual TEXTS=dir   train the words that --embed multilingual adds to it; each folder of dir has one for each language
# make survive    kill servers, runners and agents, in sandboxes too, at 100 random moments each (an hour)
# make simulate [STEPS=1000000] [SEED=1]   the rules of questions and attempts on hosts that are cut off, restart and have wrong clocks (minutes)
# make outages [OUTAGES=30] [FAILOVERS=5]   crash PostgreSQL and promote its replica so often while people answer: is an acknowledged answer lost?
# make attack     try everything that a stranger or an agent could, in one table of what held (minutes)
# make clients    list and call the tools from the TypeScript SDK and the inspector (needs npm)
# make test-web [PICTURES=dir] [STORY=word]   drive the pages in chromium (needs chromium, node and npm)
# make tools      how well find_tools finds among the tools of real servers, and in how many tokens (needs node and npm; minutes)
# make conformance [WORD=word]   the MCP conformance suite against deskhand as a client and as a server (needs Node.js 22 and npm; minutes)
# make site [SITE=dist/site]   write the manual as a static site; fails if a link leads nowhere
# make recording   run the commands of docs/recording.txt and draw docs/recording.svg
# make codex CODEX=path   ask a person from that codex, with a stub for its model (needs node)
# make vuln       known vulnerabilities of what the program is built from (needs vuln.go.dev)
# make bench-web [STORY=word]  what the pages take in a browser (STORY: questions or review)
# make release-snapshot [RELEASE="-platforms linux/amd64"]   build archives and packages into dist/ (needs npm)
# make test-image   run what the server image starts, in a root like its own (needs bwrap), and the image itself (needs podman)
# make test-containers   build both images of the Dockerfile and start compose.yaml (root, podman, podman-compose; minutes, ports 80 and 443)
# make test-chart  render the Helm chart and check its objects (needs Go's proxy; HELM and KUBECONFORM name installed ones)
# make newcomer   play somebody new with the snapshot's package: install, init, agents, search, question, task (under three minutes)
# make test-release   install the snapshot's Linux packages, run them, and check the manifests (needs npm; dpkg for the deb)

GO ?= go
# The same for every target, and no cgo but where the race detector needs it, so that
# each package is compiled once for all targets that run without the detector.
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)
PLAIN = CGO_ENABLED=0 $(GO)
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Modules that compute and share nothing with our goroutines but by locks: the race
# detector would take half of the tests' time to watch them. SQLite is C translated
# to Go, with its own locks.
UNWATCHED = modernc.org github.com/yuin/goldmark github.com/blugelabs github.com/blevesearch github.com/RoaringBitmap \
	github.com/klauspost/compress github.com/philippgille/chromem-go github.com/JohannesKaufmann github.com/pressly
RACE = -race $(foreach module,$(UNWATCHED),-gcflags=$(module)/...=-race=false)
# Packages in which nothing runs concurrently, so there is nothing in their tests that the
# race detector could watch, and they take a sixth of the time without it.
# runtime/sequential_test.go checks that.
SEQUENTIAL = chunker runtime runtime/elicit/form runtime/web/diff
# More packages at a time than two cores have: they mostly wait for programs that they
# start. The slowest is first.
SLOWEST = ./runtime/tasks
AT_ONCE ?= 3
# A program that was built with the race detector otherwise rests a second at its end.
export GORACE ?= atexit_sleep_ms=0
# A compiler that does not collect its garbage takes a seventh less time, and some hundred
# megabytes of memory; the few that need two gigabytes collect it then. What the flag runs is
# no part of the key under which go keeps what was compiled.
LATER = -toolexec='env GOGC=off GOMEMLIMIT=2GiB'
# One of each system and processor; the release builds all combinations. That for Linux is
# last: the tests of the program have compiled it by then.
PLATFORMS = darwin/arm64 windows/amd64 linux/amd64

.PHONY: all build demo site recording test test-packages test-program test-attacks meanwhile race check format vet program staticcheck cross golden-unchanged golden eval ranking bench bench-corpus fuzz attack clients test-web model multilingual clean codex bench-web test-agents received survive conformance tools vuln release-snapshot test-release newcomer test-chart test-image test-containers simulate outages

# Programs for the targets here, with tests of their own.
TOOLS_OF_TESTS = ./cmd/deskhand/testdata/attack

all: build

build:
	$(PLAIN) build -ldflags '-s -w' -o bin/deskhand ./cmd/deskhand

demo: build
	bin/deskhand index -o bin/demo-index
	bin/deskhand demo --index bin/demo-index

test:
	@$(MAKE) --no-print-directory -j3 test-packages test-program test-attacks

test-packages:
	$(GO) test $(LATER) $(RACE) $(TEST_FLAGS) -p $(AT_ONCE) -timeout 30m $(SLOWEST) $$($(GO) list ./... | grep -v '/cmd/deskhand$$' $(foreach p,$(SEQUENTIAL),| grep -v '/deskhand/$(p)$$')) $(TOOLS_OF_TESTS)

# These tests start the program as it is shipped, so there is nothing in them that the
# race detector could watch; "make race" builds the program with it. Half of their time is
# that of attacks, and most of it they wait.
test-program:
	$(PLAIN) test $(TEST_FLAGS) $(addprefix ./,$(SEQUENTIAL))
	$(PLAIN) test $(TEST_FLAGS) -timeout 30m -skip '^TestAttack' ./cmd/deskhand

test-attacks:
	$(PLAIN) test $(TEST_FLAGS) -timeout 30m -run '^TestAttack' ./cmd/deskhand

simulate:
	SIMULATE_STEPS=$(or $(STEPS),1000000) SIMULATE_SEED=$(or $(SEED),1) $(GO) test -count 1 -timeout 2h -run 'TestSimulated' -v ./runtime/elicit ./runtime/tasks

race:
	CHECK_PROGRAM=1 $(GO) test $(RACE) -timeout 30m ./...

check: export TEST_FLAGS = -vet=off
check: format vet program
	@$(MAKE) --no-print-directory -j4 test-packages test-program test-attacks meanwhile
	@$(MAKE) --no-print-directory golden-unchanged

# Compiles what test-program, test-attacks and the tests that start a program without the race
# detector need. Each would compile it for itself: go shares what was compiled, but not what
# another go compiles at the same time.
program:
	@$(PLAIN) list $(LATER) -export -test ./cmd/deskhand $(SLOWEST) $(addprefix ./,$(SEQUENTIAL)) >/dev/null

# Tests wait a third of their time for programs that they start. These take what is left.
meanwhile:
	@nice -n 19 $(MAKE) --no-print-directory staticcheck cross

format:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }

# With -race, so that what it compiles is there for the tests. The tag adds tests, and takes
# no file away.
vet:
	$(GO) vet $(LATER) $(RACE) -tags agents ./...

# Its own garbage is larger, so it collects it, but later.
staticcheck:
	@GOBIN=$(abspath bin) $(PLAIN) install $(LATER) $(STATICCHECK)
	GOGC=400 GOFLAGS="$(GOFLAGS) $(RACE)" bin/staticcheck ./...

# Programs that nobody runs are built without optimization, which takes a quarter less,
# and without what a debugger wants, a sixth less; that for Linux is the one that
# test-program builds.
cross:
	@for p in $(PLATFORMS); do echo "build $$p"; test $$p = linux/amd64 && optimize= || optimize='-N -l -dwarf=false'; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(PLAIN) build $(LATER) -gcflags="all=$$optimize" -ldflags='-s -w' -o /dev/null ./cmd/deskhand || exit 1; done

# The tests have compared with the golden files by the function that writes them, so all
# are as "make golden" would write them, if no test has changed one.
golden-unchanged:
	@git diff --exit-code --stat -- '*/testdata/*' corpus/eval/scores.txt || { echo "golden files changed: review and commit them"; exit 1; }

golden:
	UPDATE=1 $(PLAIN) test -count=1 -run Golden ./runtime/ranker >/dev/null # the others search with it
	UPDATE=1 $(PLAIN) test -count=1 -run Golden ./cmd/deskhand >/dev/null
	UPDATE=1 $(PLAIN) test -count=1 -run Golden $$(git grep -l 'func Test.*Golden' -- '*_test.go' ':!cmd/deskhand' | xargs -n1 dirname | sort -u | sed 's|^|./|') >/dev/null

# SETS has a line for each further set: name, folder of markdown, case files.
eval: build
	@rm -f bin/ranking.md
	SETS=$(abspath $(SETS)) RANKING=$(abspath bin/ranking.md) $(GO) test -count=1 -timeout 60m -run '^TestRanking$$' ./cmd/deskhand
	@cat bin/ranking.md
	bin/deskhand index -o bin/demo-index
	bin/deskhand eval corpus/eval/manual.json --index bin/demo-index --baseline corpus/eval/scores.txt

ranking:
	@test -n "$(SETS)" || { echo "say which sets: make ranking SETS=file; docs/ranking.md tells what they are"; exit 1; }
	SETS=$(abspath $(SETS)) RANKING=$(abspath docs/ranking.md) $(GO) test -count=1 -timeout 60m -run '^TestRanking$$' ./cmd/deskhand

bench:
	$(GO) test -run xxx -bench . -benchmem -short ./...
	$(GO) test -run xxx -bench People -benchtime 5x ./cmd/deskhand
	$(MAKE) bench-corpus

bench-corpus:
	BENCH_CORPUS=$(abspath $(CORPUS)) BENCH_QUERIES=$(abspath $(QUERIES)) $(GO) test -run xxx -bench 'Corpus' -benchtime 3s ./cmd/deskhand

fuzz:
	@for t in $$($(GO) test -list 'Fuzz.*' ./... | awk '/^Fuzz/{f[n++]=$$1} /^ok/{for(i=0;i<n;i++)print $$2":"f[i]; n=0}'); do \
		echo "$$t"; $(GO) test -run xxx -fuzz "^$${t#*:}$$" -fuzztime 30s "$${t%:*}" || exit 1; done

survive:
	SURVIVE=100 $(GO) test -count=1 -timeout 120m -v -run 'Killed|CutOff|Suspended|Sleeping' ./runtime/tasks

outages:
	OUTAGES=$(or $(OUTAGES),30) FAILOVERS=$(or $(FAILOVERS),5) $(GO) test -count 1 -timeout 60m -run 'AcknowledgedAnswersSurvive' -v ./runtime/elicit

attack:
	@ATTACK=all $(GO) test -json -count=1 -timeout 60m -run '^TestAttack' $$(git grep -l 'func TestAttack' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|') | \
		$(GO) run ./cmd/deskhand/testdata/attack

clients: build
	bin/deskhand index -o bin/demo-index
	cmd/deskhand/testdata/clients/run.sh bin/deskhand bin/demo-index

SITE = dist/site
site:
	$(PLAIN) run ./deploy/site -out $(SITE)

recording: build
	$(PLAIN) run ./deploy/recording -program bin/deskhand

test-web: build
	$(PLAIN) run ./deploy/site -out bin/site
	SITE=bin/site cmd/deskhand/testdata/web/run.sh bin/deskhand "$(PICTURES)" "$(STORY)"

conformance: build
	cmd/deskhand/testdata/conformance/run.sh bin/deskhand "$(WORD)"

tools:
	@mkdir -p bin/servers && test -f bin/servers/package.json || echo '{"private":true}' >bin/servers/package.json
	cd bin/servers && npm install --no-audit --no-fund --ignore-scripts gpt-tokenizer@4.0.0 $$(node -p 'require("../../cmd/deskhand/testdata/tools/servers.json").map((s) => s.package).join(" ")')
	TOOLS=$(abspath bin/servers) TOOLS_SHOWN=$(abspath bin/servers/shown.json) $(GO) test -count=1 -v -timeout 20m -run '^TestToolsAreFoundAmongThoseOfRealServers$$' ./cmd/deskhand
	node cmd/deskhand/testdata/tools/tokens.mjs bin/servers

codex: build
	@test -n "$(CODEX)" || { echo "say where codex is: make codex CODEX=node_modules/.bin/codex"; exit 1; }
	node cmd/deskhand/testdata/clients/codex.mjs bin/deskhand $(CODEX)

# It fails on what it finds, and not because the database is out of reach.
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
vuln:
	@$(GO) install $(GOVULNCHECK) && PATH="$$($(GO) env GOPATH)/bin:$$PATH" && \
	found=$$(govulncheck ./cmd/deskhand 2>&1); status=$$?; echo "$$found"; \
	case "$$status,$$found" in \
	0,*) ;; \
	3,*) echo "make vuln: the program can be reached by what is listed: update it, or say in docs/dependencies.md why not"; exit 1 ;; \
	*) echo "make vuln: NOT RUN: govulncheck did not get its database (see above)" ;; \
	esac

bench-web: build
	SCRIPT=speed.mjs cmd/deskhand/testdata/web/run.sh bin/deskhand "" "$(STORY)"

# The versions that the recorded streams, runtime/clients and docs/clients.md are
# of. Others are other agents.
PACKAGE_claude = @anthropic-ai/claude-code@2.1.197
PACKAGE_codex = @openai/codex@0.169.0
PACKAGE_codex-code = $(PACKAGE_codex)
PACKAGE_gemini = @google/gemini-cli@0.61.0
PACKAGE_opencode = opencode-ai@1.18.33
AGENT_PACKAGES = @agentclientprotocol/claude-agent-acp@0.49.0 $(PACKAGE_claude) $(PACKAGE_opencode) \
	$(PACKAGE_codex) @zed-industries/codex-acp@0.16.0 $(PACKAGE_gemini)

# 1.6 GB under bin/agents, and minutes.
test-agents:
	@mkdir -p bin/agents && test -f bin/agents/package.json || echo '{"private":true}' >bin/agents/package.json
	cd bin/agents && npm install --no-audit --no-fund $(AGENT_PACKAGES)
	AGENTS_BIN=$(abspath bin/agents/node_modules/.bin) AGENTS="$(AGENTS)" $(PLAIN) test -tags agents -count=1 -v -timeout 60m -run '^TestRealAgents' ./runtime/tasks/executor ./cmd/deskhand

# 0.4 GB under bin/agents for claude and gemini, 1.1 GB for all. codex-code is
# codex with a model that calls tools from scripts. TABLE is written if nothing is
# missing.
CLIENTS = claude codex codex-code gemini opencode
received: build
	@command -v npm >/dev/null || { echo "make received: NOT RUN: npm is missing (install Node.js 20 or newer)"; exit 1; }
	@mkdir -p bin/agents && test -f bin/agents/package.json || echo '{"private":true}' >bin/agents/package.json
	cd bin/agents && npm install --no-audit --no-fund js-tiktoken@1.0.21 $(foreach client,$(CLIENTS),$(PACKAGE_$(client))) || \
		{ echo "make received: NOT RUN: npm did not install the clients: it needs its registry, or them in its cache"; exit 1; }
	AGENTS_BIN=$(abspath bin/agents/node_modules/.bin) AGENTS="$(CLIENTS)" RECEIVED_PROGRAM=$(abspath bin/deskhand) RECEIVED=$(abspath $(TABLE)) \
		$(PLAIN) test -tags agents -count=1 -v -timeout 15m -run '^TestReceived$$' ./cmd/deskhand

# Minutes on two cores. The same texts give the same bytes, on any machine.
model: build
	@test -n "$(TEXTS)" || { echo "say where the texts are: make model TEXTS=dir"; exit 1; }
	bin/deskhand train $(patsubst %/.,%,$(sort $(wildcard $(TEXTS)/*/.))) -o indexer/embed/model/builtin.model

multilingual:
	@test -n "$(TEXTS)" || { echo "say where the texts are: make multilingual TEXTS=dir"; exit 1; }
	$(GO) run ./indexer/embed/train/multilingual indexer/embed/model/multilingual.model $(patsubst %/.,%,$(sort $(wildcard $(TEXTS)/*/.)))

release-snapshot:
	$(PLAIN) run ./deploy/release -out dist $(RELEASE)

test-release:
	deploy/release/test.sh dist
	deploy/release/manifests.sh "$(or $(AGENTS_BIN),bin/agents/node_modules/.bin)"

# The package of this platform, with the agents that are in bin/agents. Without a
# snapshot it is made; where that is not possible, the program is the one built here.
newcomer:
	@test -f dist/checksums.txt || $(MAKE) release-snapshot RELEASE="-platforms $$($(GO) env GOOS)/$$($(GO) env GOARCH)" || $(MAKE) build
	@if test -f dist/checksums.txt; then set -- dist; else set -- bin/deskhand; fi; \
		deploy/newcomer.sh "$$1" "$(or $(AGENTS_BIN),bin/agents/node_modules/.bin)"

test-image: build
	deploy/release/image.sh bin/deskhand corpus
	deploy/release/container.sh bin/deskhand corpus

# Base images that no registry gives are made from Debian's mirror, and kept in bin/bases.
test-containers:
	deploy/release/containers.sh bin/bases

test-chart:
	deploy/release/chart.sh

clean:
	rm -rf bin dist dist-parts
