# make setup             installs what is missing (SQLCIPHER=backports: SQLCipher 4 on Debian 12)
# make demo              the main job from end to end, in a temporary folder
# make test              the test-suite, on the SQLCipher that is installed
# make test-sqlcipher4   the same on SQLCipher 4, unpacked beside an installed 3.4.1
# make release           every product, optimized: the program is .build/release/aware-notification
# make test-release      the demo, the README's commands and the program's own tests, on the optimized program
# make torture           the campaigns of kills and power cuts at length, with counts (CAMPAIGN=500: hours)
# make torture-sqlcipher4  the same on SQLCipher 4
# make apple-check       what of the sources is for Apple's systems, compiled and tested against stubs (part of make test)
# make lint | bench | sanitize | build | embed

# The tests run one after another: many start processes and wait for them, which in parallel would starve the others.

SWIFT ?= swift
SWIFT_FLAGS ?=
BENCH_FLAGS ?=
SQLCIPHER ?=
PRIVATE := $(CURDIR)/.sqlcipher4
CAMPAIGN ?= 50
# A campaign is a suite whose name ends so; each stops at its first loss.
CAMPAIGNS := --filter 'Campaign/'

.PHONY: setup build demo test test-sqlcipher4 release test-release torture torture-sqlcipher4
.PHONY: lint bench sanitize embed apple-check

setup:
	@Scripts/setup $(SQLCIPHER)

build: setup
	$(SWIFT) build

demo: setup
	@echo "demo: building the program; the first time that takes about a minute"
	@$(SWIFT) build --quiet --product aware-notification
	@Examples/demo "$$($(SWIFT) build --show-bin-path)/aware-notification"

test: setup
	@SWIFT=$(SWIFT) Scripts/test

apple-check: setup
	@SWIFT=$(SWIFT) Scripts/apple-check

test-sqlcipher4: setup
	@Scripts/private-sqlcipher $(PRIVATE)
	PKG_CONFIG_PATH=$(PRIVATE)/pkgconfig SQLCIPHER_SHELL=$(PRIVATE)/bin/sqlcipher EXPECT_SQLCIPHER=4 \
	  $(SWIFT) test --no-parallel $(SWIFT_FLAGS) --scratch-path .build/sqlcipher4 -Xlinker -rpath -Xlinker $(PRIVATE)/lib

release: setup
	$(SWIFT) build -c release

# One command for each line: a pipe or a list would hide the compiler's status.
test-release: release
	Examples/demo "$$($(SWIFT) build -c release --show-bin-path)/aware-notification"
	Scripts/readme-commands "$$($(SWIFT) build -c release --show-bin-path)/aware-notification"
	TESTED_PROGRAM="$$($(SWIFT) build -c release --show-bin-path)/aware-notification" \
	  $(SWIFT) test --no-parallel --filter '^CommandLineTests\.'

torture torture-sqlcipher4: export CAMPAIGN := $(CAMPAIGN)

torture: setup
	$(SWIFT) test --no-parallel $(CAMPAIGNS)

torture-sqlcipher4:
	@$(MAKE) test-sqlcipher4 SWIFT_FLAGS="$(CAMPAIGNS)"

lint: setup
	@Scripts/lint

bench: setup
	@$(SWIFT) build -c release --quiet --package-path Benchmarks
	@$(SWIFT) run -c release --quiet --skip-build --package-path Benchmarks store-benchmark $(BENCH_FLAGS)
	@$(SWIFT) run -c release --quiet --skip-build --package-path Benchmarks extension-benchmark $(BENCH_FLAGS)

# The leak checker is off: the Swift runtime's own allocations at start never go away. So is the runtime's backtracer,
# which looks at a trapped process in ways that a sanitizer takes for faults.
sanitize: export SANITIZED = 1
sanitize: export SWIFT_BACKTRACE = enable=no
sanitize: setup
	$(SWIFT) test --no-parallel --sanitize=thread --scratch-path .build/thread
	ASAN_OPTIONS=detect_leaks=0 $(SWIFT) test --no-parallel --sanitize=address --scratch-path .build/address

embed:
	@Scripts/embed-migrations
