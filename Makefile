# oncedrop: make, make install, make check, make demo. See `make help`.

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
LIBEXECDIR ?= $(PREFIX)/libexec
BASH_COMPLETION := $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETION ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETION := $(PREFIX)/share/fish/vendor_completions.d
SHAREDIR := $(PREFIX)/share/oncedrop
LABDIR := $(PREFIX)/share/oncedrop-lab
BUILD ?= build
CC ?= cc
INSTALL ?= install
PKG_CONFIG ?= pkg-config
# Debian's own python3, which finds the packages of tests/install-packages.
PYTHON ?= /usr/bin/python3
# Of the program, the manuals, the tarball and the package; conf/debian/changelog and NEWS.md name it too.
VERSION := $(file <VERSION)

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings \
  -Wformat=2 -Wundef -Wvla -Wcast-qual -Wimplicit-fallthrough
HARDENING ?= -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fstack-clash-protection -fcf-protection
HARDENING_LD := -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed
WERROR ?=
PKGS := glib-2.0 jansson nettle
# Evaluated once, and only if something is compiled.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS) gnutls gmime-3.0 libseccomp libpq sqlite3 libmariadb))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS)))$(PKG_LIBS)
TLS_LIBS = $(eval TLS_LIBS := $(shell $(PKG_CONFIG) --libs gnutls) -letpan)$(TLS_LIBS)
DECODE_LIBS = $(eval DECODE_LIBS := $(shell $(PKG_CONFIG) --libs gmime-3.0 libseccomp))$(DECODE_LIBS)
SQLITE_LIBS = $(eval SQLITE_LIBS := $(shell $(PKG_CONFIG) --libs sqlite3 glib-2.0))$(SQLITE_LIBS)
MARIADB_LIBS = $(eval MARIADB_LIBS := $(shell $(PKG_CONFIG) --libs libmariadb glib-2.0))$(MARIADB_LIBS)
POSTGRES_LIBS = $(eval POSTGRES_LIBS := $(shell $(PKG_CONFIG) --libs libpq glib-2.0))$(POSTGRES_LIBS)
CPPFLAGS_ALL = -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc -I$(BUILD) -DVERSION='"$(VERSION)"' -DSYSCONFDIR='"$(SYSCONFDIR)"' $(CPPFLAGS)
# All but the front is in shared objects.
CFLAGS_ALL = -std=gnu11 -fPIC $(WARNINGS) $(WERROR) $(HARDENING) $(PKG_CFLAGS) $(CFLAGS)
LIBS = $(PKG_LIBS)
# With what is a module elsewhere.
TEST_LIBS = $(LIBS) $(TLS_LIBS) $(DECODE_LIBS) $(POSTGRES_LIBS) $(SQLITE_LIBS) $(MARIADB_LIBS)

# Shows targets, not commands; `make V=1` shows commands, `make -s` nothing.
ifeq ($(V),)
Q := @
say = @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,echo "  $(1)  $(2)";)
endif

SOURCES := $(sort $(filter-out src/front/%,$(wildcard src/*/*.c)))
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/%.o)
# The small program that users call, without any library but libc.
FRONT_OBJECTS := $(patsubst src/%.c,$(BUILD)/%.o,$(sort $(wildcard src/front/*.c)))
FRONT_BASE := $(addprefix $(BUILD)/base/,base.o deadline.o elf_file.o module.o output.o tempfile.o)
ENGINES := postgres sqlite mariadb
STEPS := $(sort $(wildcard src/sql/steps/*.sql))
ENGINE_STEPS := $(sort $(wildcard $(ENGINES:%=src/%/steps/*.sql)))
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(filter-out %/fuzz_driver.c,$(sort $(wildcard tests/fuzz/fuzz_*.c))))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/test_*.c)))

MODULES := oncedrop-main.so oncedrop-tls.so oncedrop-decode.so $(ENGINES:%=oncedrop-%.so)
SETUP := $(notdir $(sort $(wildcard src/setup/*)))

all: $(BUILD)/oncedrop $(addprefix $(BUILD)/,$(MODULES) $(SETUP))

# Exports what it has instead of libc.
$(BUILD)/oncedrop: $(FRONT_OBJECTS) $(FRONT_BASE)
	$(call say,LD,$@) $(CC) $(CFLAGS_ALL) $(HARDENING_LD) -Wl,--export-dynamic-symbol=iconv* $(LDFLAGS) -o $@ $^

# What base.h says about modules.
DECODE_OBJECTS := $(addprefix $(BUILD)/decode/,decode_sandbox.o decode_entity.o decode_message.o decode_part.o decode_words.o)
TLS_OBJECTS := $(BUILD)/imap/imap_tls.o
POSTGRES_OBJECTS := $(filter $(BUILD)/postgres/%,$(OBJECTS))
SQLITE_OBJECTS := $(filter $(BUILD)/sqlite/%,$(OBJECTS))
MARIADB_OBJECTS := $(filter $(BUILD)/mariadb/%,$(OBJECTS))
MODULE_OBJECTS := $(TLS_OBJECTS) $(DECODE_OBJECTS) $(POSTGRES_OBJECTS) $(SQLITE_OBJECTS) $(MARIADB_OBJECTS)
MODULE_SYMBOLS := src/base/modules.symbols

$(BUILD)/oncedrop-main.so: $(BUILD)/main.o $(filter-out $(MODULE_OBJECTS),$(OBJECTS)) $(MODULE_SYMBOLS)
$(BUILD)/oncedrop-main.so: THEIR_LIBS = -Wl,--version-script=$(MODULE_SYMBOLS) $(LIBS)
$(BUILD)/oncedrop-tls.so: $(TLS_OBJECTS)
$(BUILD)/oncedrop-tls.so: THEIR_LIBS = $(TLS_LIBS)
$(BUILD)/oncedrop-decode.so: $(DECODE_OBJECTS)
$(BUILD)/oncedrop-decode.so: THEIR_LIBS = $(DECODE_LIBS)
$(BUILD)/oncedrop-postgres.so: $(POSTGRES_OBJECTS)
$(BUILD)/oncedrop-postgres.so: THEIR_LIBS = $(POSTGRES_LIBS)
$(BUILD)/oncedrop-sqlite.so: $(SQLITE_OBJECTS)
$(BUILD)/oncedrop-sqlite.so: THEIR_LIBS = $(SQLITE_LIBS)
$(BUILD)/oncedrop-mariadb.so: $(MARIADB_OBJECTS)
$(BUILD)/oncedrop-mariadb.so: THEIR_LIBS = $(MARIADB_LIBS)
$(addprefix $(BUILD)/,$(MODULES)):
	$(call say,LD,$@) $(CC) $(CFLAGS_ALL) $(filter-out -pie,$(HARDENING_LD)) -shared $(LDFLAGS) -o $@ $(filter %.o,$^) $(THEIR_LIBS)

# Program and modules must come from the same sources. Sorted, for the order of names depends on the language.
$(BUILD)/module_build.h: $(sort $(wildcard src/front/front.h src/imap/imap_tls.[ch] src/decode/*.[ch] src/message/*.[ch] src/sql/*.[ch] $(ENGINES:%=src/%/*.[ch]) src/base/*.h)) $(STEPS) $(ENGINE_STEPS) Makefile
	@mkdir -p $(@D)
	@echo '#define MODULE_BUILD "$(VERSION) '"$$(cat $^ | cksum)"'"' >$@.new
	@if cmp -s $@.new $@; then rm $@.new; touch $@; else mv $@.new $@; fi

$(BUILD)/main.o $(BUILD)/base/module.o $(TLS_OBJECTS) $(BUILD)/decode/decode_message.o $(foreach engine,$(ENGINES),$(BUILD)/$(engine)/$(engine).o): $(BUILD)/module_build.h

$(BUILD)/%.o: src/%.c Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CPPFLAGS_ALL) $(LOCATION) $(CFLAGS_ALL) -fno-semantic-interposition -MMD -MP -c -o $@ $<

# Only these know where they are installed: `make install` with another PREFIX does not compile the others again.
LOCATED := $(BUILD)/base/module.o
$(LOCATED): LOCATION := -DLIBEXECDIR='"$(LIBEXECDIR)"'
$(LOCATED): $(BUILD)/libexecdir

# These change when the flags do; what depends on them is then recompiled. Two makes may do this at once.
RENEW = @mkdir -p $(@D); new=$@.$$$$; $(1) >$$new; if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

$(BUILD)/flags: FORCE
	$(call RENEW,printf '%s\n' '$(subst ','\'',$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS))')

$(BUILD)/libexecdir: FORCE
	$(call RENEW,echo '$(LIBEXECDIR)')

# Only main.o depends on the commit.
$(BUILD)/commit.h: FORCE
	$(call RENEW,echo "#define COMMIT \"$$(release/commit)\"")

$(BUILD)/main.o: $(BUILD)/commit.h

# The schema's SQL files are built into the program.
$(ENGINES:%=$(BUILD)/%_schema.h): $(BUILD)/%_schema.h: src/sql/embed.sh src/sql/comments.awk $(wildcard $(ENGINES:%=src/%/schema/*.sql)) Makefile
	@mkdir -p $(@D)
	$(Q)sh src/sql/embed.sh $(sort $(wildcard src/$*/schema/*.sql)) >$@.new && mv $@.new $@

# For tests of upgrades: each engine with the first version of an artificial schema, in upgrade/1, and with both (tests/upgrade); in
# upgrade/999 with what src/ has and a later version.
SCHEMA_OBJECTS := $(foreach engine,$(ENGINES),$(BUILD)/$(engine)/$(engine).o)
UPGRADE_VERSIONS := $(BUILD)/upgrade/1 $(BUILD)/upgrade/2 $(BUILD)/upgrade/999
UPGRADE_HEADERS := $(foreach version,$(UPGRADE_VERSIONS),$(ENGINES:%=$(version)/%_schema.h))
UPGRADE_MODULES := $(foreach version,$(UPGRADE_VERSIONS),$(ENGINES:%=$(version)/oncedrop-%.so))

upgrade-modules: $(UPGRADE_HEADERS) $(UPGRADE_MODULES)

$(ENGINES:%=$(BUILD)/upgrade/1/%_schema.h): $(BUILD)/upgrade/1/%_schema.h: src/sql/embed.sh src/sql/comments.awk src/%/schema/001-base.sql tests/upgrade/base.sed Makefile
	@mkdir -p $(@D)/$*
	$(Q)sed -f tests/upgrade/base.sed src/$*/schema/001-base.sql >$(@D)/$*/001-base.sql
	$(Q)sh src/sql/embed.sh $(@D)/$*/001-base.sql >$@.new && mv $@.new $@

$(ENGINES:%=$(BUILD)/upgrade/2/%_schema.h): $(BUILD)/upgrade/2/%_schema.h: $(BUILD)/upgrade/1/%_schema.h tests/upgrade/%/002-column.sql
	@mkdir -p $(@D)
	$(Q)sh src/sql/embed.sh $(BUILD)/upgrade/1/$*/001-base.sql tests/upgrade/$*/002-column.sql >$@.new && mv $@.new $@

$(ENGINES:%=$(BUILD)/upgrade/999/%_schema.h): $(BUILD)/upgrade/999/%_schema.h: src/sql/embed.sh src/sql/comments.awk $(wildcard $(ENGINES:%=src/%/schema/*.sql)) tests/upgrade/%/999-later.sql Makefile
	@mkdir -p $(@D)
	$(Q)sh src/sql/embed.sh $(sort $(wildcard src/$*/schema/*.sql)) tests/upgrade/$*/999-later.sql >$@.new && mv $@.new $@

$(UPGRADE_VERSIONS:%=%/oncedrop-postgres.so): %/oncedrop-postgres.so: $(POSTGRES_OBJECTS) %/postgres_schema.h
$(UPGRADE_VERSIONS:%=%/oncedrop-postgres.so): THEIR_LIBS = $(POSTGRES_LIBS)
$(UPGRADE_VERSIONS:%=%/oncedrop-sqlite.so): %/oncedrop-sqlite.so: $(SQLITE_OBJECTS) %/sqlite_schema.h
$(UPGRADE_VERSIONS:%=%/oncedrop-sqlite.so): THEIR_LIBS = $(SQLITE_LIBS)
$(UPGRADE_VERSIONS:%=%/oncedrop-mariadb.so): %/oncedrop-mariadb.so: $(MARIADB_OBJECTS) %/mariadb_schema.h
$(UPGRADE_VERSIONS:%=%/oncedrop-mariadb.so): THEIR_LIBS = $(MARIADB_LIBS)
$(UPGRADE_MODULES):
	$(call say,LD,$@) $(CC) -I$(@D) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(filter-out -pie,$(HARDENING_LD)) -shared $(LDFLAGS) -o $@ \
	  $(patsubst $(BUILD)/%.o,src/%.c,$(filter $(SCHEMA_OBJECTS),$^)) $(filter-out $(SCHEMA_OBJECTS),$(filter %.o,$^)) $(THEIR_LIBS)

# So are the steps, for every file that includes sql.h. What they say of outcomes is made of the table.
$(BUILD)/outcomes.sql: src/sql/outcomes.awk src/delivery/outcome.c Makefile
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f src/sql/outcomes.awk src/delivery/outcome.c >$@.new && mv $@.new $@

$(BUILD)/sql_steps.h: src/sql/steps.awk $(BUILD)/outcomes.sql $(STEPS) Makefile
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f src/sql/steps.awk $(BUILD)/outcomes.sql $(STEPS) >$@.new && mv $@.new $@

$(ENGINES:%=$(BUILD)/%_steps.h): $(BUILD)/%_steps.h: src/sql/steps.awk $(BUILD)/outcomes.sql $(STEPS) $(ENGINE_STEPS) Makefile
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -v folder=src/$*/steps -f src/sql/steps.awk $(BUILD)/outcomes.sql $(STEPS) \
	  $(filter src/$*/%,$(ENGINE_STEPS)) >$@.new && mv $@.new $@

# What `oncedrop help` prints of each command is read from its manual page.
PAGES := $(sort $(filter-out man/oncedrop-lab.1,$(wildcard man/oncedrop-*.1)))
$(BUILD)/command_pages.h: src/cmd/pages.awk $(PAGES) Makefile
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f src/cmd/pages.awk $(PAGES) >$@.new && mv $@.new $@

$(BUILD)/cmd/command.o: | $(BUILD)/command_pages.h

$(OBJECTS) $(BUILD)/main.o: | $(BUILD)/sql_steps.h
$(POSTGRES_OBJECTS): | $(BUILD)/postgres_schema.h $(BUILD)/postgres_steps.h
$(SQLITE_OBJECTS): | $(BUILD)/sqlite_schema.h $(BUILD)/sqlite_steps.h
$(MARIADB_OBJECTS): | $(BUILD)/mariadb_schema.h $(BUILD)/mariadb_steps.h

# What a unit test includes itself, to reach behind its header.
UNIT_HAS_test_decoding := $(BUILD)/decode/decoding.o
UNIT_HAS_test_login_backoff := $(BUILD)/delivery/login_backoff.o
UNIT_HAS_test_mailbox_namespace := $(BUILD)/mailbox/mailbox_folder.o
UNIT_HAS_test_sql_session := $(BUILD)/sql/sql_load.o

$(BUILD)/unit/%: tests/unit/%.c $(OBJECTS) Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP $(LDFLAGS) -o $@ $< \
	  $(filter-out $(UNIT_HAS_$*),$(OBJECTS)) -lcmocka $(TEST_LIBS)

unit: $(UNIT_TESTS:=.run)

$(UNIT_TESTS:=.run): %.run: %
	@$<

# Runs a target: libFuzzer, or our own driver, which does not need clang.
FUZZ_ENGINE ?= tests/fuzz/fuzz_driver.c
FUZZ_SANITIZE := address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# What a target replaces.
comma := ,
FUZZ_WRAP_absence := imap_connect imap_socket_read imap_socket_write
FUZZ_WRAP_imap := imap_connect imap_stream_secure imap_socket_read imap_socket_write message_comparison_feed message_comparison_end
FUZZ_WRAP_lmtp := read poll
FUZZ_WRAP_search := imap_connect imap_socket_read imap_socket_write
$(BUILD)/fuzz/front: $(BUILD)/front/front_reply.o

$(BUILD)/fuzz/%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz_driver.c tests/fuzz/fuzz.h $(OBJECTS) Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(FUZZ_WRAP_$*)) \
	  -o $@ $< $(FUZZ_ENGINE) $(filter %.o,$^) $(TEST_LIBS)

# The simulator contains the real src/delivery, unchanged, and simulates everything it calls. The files that read headers
# are left out.
SIMULATION_OBJECTS := $(filter-out $(addprefix $(BUILD)/delivery/,envelope.o received.o),$(filter $(BUILD)/delivery/%,$(OBJECTS))) \
  $(BUILD)/base/same_mailbox.o $(BUILD)/base/base.o
SIMULATION_SOURCES := $(sort $(wildcard tests/simulation/*.c))
SIMULATION_WRAP := base_now_ms time g_random_int_range plan_make copy_make append_now append_collect search_copy fallback_append fallback_search quarantine_append reply_sent reply_unrecorded outcome_row

$(BUILD)/simulation: $(SIMULATION_SOURCES) $(wildcard tests/simulation/*.h) $(SIMULATION_OBJECTS) Makefile $(BUILD)/flags
	$(call say,CC,$@) $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(SIMULATION_WRAP)) \
	  -o $@ $(SIMULATION_SOURCES) $(SIMULATION_OBJECTS) $(PKG_LIBS)

# MESSAGES=10000000 (with at least one fault each) SEED=
century: $(BUILD)/simulation
	@BUILD=$(BUILD) MESSAGES=$(MESSAGES) SEED=$(SEED) tests/simulation/run long

# Random histories on src/ledger with each engine, and on the simulated ledger.
DIFFERENTIAL_SOURCES := $(addprefix tests/differential/,calls.c dump.c history.c main.c)
DIFFERENTIAL_REAL := $(addprefix tests/differential/,batch_faults.c real.c real_rows.c)
DIFFERENTIAL_HEADERS := $(wildcard tests/differential/*.h tests/simulation/*.h)
DIFFERENTIAL_SIMULATED := tests/differential/simulated.c $(sort $(wildcard tests/simulation/client*.c)) \
  $(addprefix tests/simulation/,breakage.c database.c tables.c world.c)
DIFFERENTIAL_WRAP := sql_load message_lock_key
DIFFERENTIAL_PROGRAMS := $(addprefix $(BUILD)/differential-,$(ENGINES) simulated)

$(BUILD)/differential-%: tests/differential/engine_%.c $(DIFFERENTIAL_SOURCES) $(DIFFERENTIAL_REAL) $(DIFFERENTIAL_HEADERS) $(OBJECTS) Makefile $(BUILD)/flags
	$(call say,CC,$@) $(CC) $(CPPFLAGS_ALL) -Itests $(CFLAGS_ALL) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(DIFFERENTIAL_WRAP)) \
	  -o $@ $(filter %.c,$^) $(OBJECTS) $(TEST_LIBS)

$(BUILD)/differential-simulated: $(DIFFERENTIAL_SOURCES) $(DIFFERENTIAL_SIMULATED) $(DIFFERENTIAL_HEADERS) $(BUILD)/base/base.o Makefile $(BUILD)/flags
	$(call say,CC,$@) $(CC) $(CPPFLAGS_ALL) -Itests $(CFLAGS_ALL) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(PKG_LIBS)

differential-programs: $(DIFFERENTIAL_PROGRAMS)

# HISTORIES=10000 SEED=
differential:
	@tests/install-packages check
	@$(MAKE) --no-print-directory -j "$$(nproc)" all differential-programs
	@ONCEDROP=$(BUILD)/oncedrop ONCEDROP_HISTORIES=$(or $(HISTORIES),10000) ONCEDROP_SEED=$(SEED) $(PYTHON) -B -m pytest -q -s \
	  -p no:cacheprovider tests/differential

fuzz-programs: $(addprefix $(BUILD)/fuzz/,$(FUZZ_TARGETS))

# Uses the sanitizers of the present build; `make check` has a build with them.
fuzz-short: fuzz-programs
	@BUILD=$(BUILD) RUNS=$(RUNS) tests/fuzz/run short $(or $(TARGET),$(FUZZ_TARGETS))

# TIME=60 (seconds of each target) RUNS= TARGET=
fuzz:
	@tests/install-packages fuzz
	@$(MAKE) --no-print-directory -j "$$(nproc)" BUILD=$(BUILD)-fuzz CC=clang HARDENING= \
	  CFLAGS='-O1 -g -fsanitize=fuzzer-no-link,$(FUZZ_SANITIZE)' LDFLAGS='-fsanitize=$(FUZZ_SANITIZE)' \
	  FUZZ_ENGINE='-fsanitize=fuzzer -fno-sanitize-coverage=trace-cmp' fuzz-programs
	@BUILD=$(BUILD)-fuzz TIME=$(TIME) RUNS=$(RUNS) tests/fuzz/run long $(or $(TARGET),$(FUZZ_TARGETS))

$(addprefix $(BUILD)/,$(SETUP)): $(BUILD)/%: src/setup/%
	@mkdir -p $(@D)
	@cp $< $@

# Installed with the program and its manuals: examples for the servers around it.
SHARED := $(sort $(foreach folder,apparmor application courier cyrus dovecot grafana lab mariadb pgbouncer postfix postgresql prometheus systemd,$(wildcard conf/$(folder)/*)))
# The paths of this installation's program and configuration; other paths in these files belong to others.
LOCATE := sed -e 's|/usr/local/bin/oncedrop|$(BINDIR)/oncedrop|g' -e 's|/etc/oncedrop|$(SYSCONFDIR)/oncedrop|g' \
  -e 's|/usr/local/share/oncedrop|$(SHAREDIR)|g' -e 's|/usr/local/libexec/oncedrop|$(LIBEXECDIR)/oncedrop|g'
INSTALLED := $(DESTDIR)$(BINDIR)/oncedrop
LIBRARY := $(DESTDIR)$(LIBEXECDIR)/oncedrop
SAMPLE := $(DESTDIR)$(SYSCONFDIR)/oncedrop/oncedrop.conf.sample
# What oncedrop-lab takes of the library of the tests.
LAB := oncedrop-lab $(patsubst %,lab/%.py,__init__ certificates database_server dovecot dovecot_config front imap_server \
  lab ledger ledger_mariadb ledgers lmtp locks mariadb messages postfix postfix_base postgres process proxy service site \
  smtp_gateway)

# An existing configuration is not touched: a sample is installed next to it. All programs
# are replaced atomically, since Postfix may run them at any time; first what the others need.
install: all
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR)/oncedrop $(DESTDIR)$(SYSCONFDIR)/oncedrop
	for name in $(MODULES); do \
	  $(INSTALL) -m 755 $(BUILD)/$$name $(LIBRARY)/$$name.new && mv -f $(LIBRARY)/$$name.new $(LIBRARY)/$$name || exit 1; \
	done
	for name in $(SETUP); do \
	  mode=644; [ ! -x src/setup/$$name ] || mode=755; \
	  $(INSTALL) -m $$mode /dev/null $(LIBRARY)/$$name.new && $(LOCATE) src/setup/$$name >$(LIBRARY)/$$name.new && \
	  mv -f $(LIBRARY)/$$name.new $(LIBRARY)/$$name || exit 1; \
	done
	$(INSTALL) -m 755 $(BUILD)/oncedrop $(INSTALLED).new && mv -f $(INSTALLED).new $(INSTALLED)
	$(INSTALL) -m 640 /dev/null $(SAMPLE) && $(LOCATE) conf/oncedrop.conf >$(SAMPLE)
	for page in man/*.[1-9]; do \
	  section=$(DESTDIR)$(MANDIR)/man$${page##*.}; \
	  $(INSTALL) -d $$section && $(INSTALL) -m 644 /dev/null $$section/$${page##*/} && \
	  $(LOCATE) -e 's/^\.Os$$/.Os oncedrop $(VERSION)/' $$page >$$section/$${page##*/} || exit 1; \
	done
	$(INSTALL) -d $(DESTDIR)$(BASH_COMPLETION) $(DESTDIR)$(ZSH_COMPLETION) $(DESTDIR)$(FISH_COMPLETION)
	$(INSTALL) -m 644 conf/completion/oncedrop.bash $(DESTDIR)$(BASH_COMPLETION)/oncedrop
	$(INSTALL) -m 644 conf/completion/_oncedrop $(DESTDIR)$(ZSH_COMPLETION)/_oncedrop
	$(INSTALL) -m 644 conf/completion/oncedrop.fish $(DESTDIR)$(FISH_COMPLETION)/oncedrop.fish
	$(INSTALL) -d $(DESTDIR)$(LABDIR)/lab
	for file in $(LAB); do \
	  to=$(DESTDIR)$(LABDIR)/$$file; mode=644; [ ! -x tests/$$file ] || mode=755; \
	  $(INSTALL) -m $$mode /dev/null $$to && $(LOCATE) tests/$$file >$$to || exit 1; \
	done
	ln -sf $(LABDIR)/oncedrop-lab $(DESTDIR)$(BINDIR)/oncedrop-lab
	for file in $(SHARED); do \
	  to=$(DESTDIR)$(SHAREDIR)/$${file#conf/}; mode=644; [ ! -x $$file ] || mode=755; \
	  $(INSTALL) -d $${to%/*} && $(INSTALL) -m $$mode /dev/null $$to && $(LOCATE) $$file >$$to || exit 1; \
	done

uninstall:
	rm -f $(INSTALLED) $(addprefix $(LIBRARY)/,$(MODULES) $(SETUP)) $(SAMPLE)
	[ ! -d $(LIBRARY) ] || rmdir --ignore-fail-on-non-empty $(LIBRARY)
	rm -f $(DESTDIR)$(BINDIR)/oncedrop-lab $(LAB:%=$(DESTDIR)$(LABDIR)/%)
	rm -f $(DESTDIR)$(BASH_COMPLETION)/oncedrop $(DESTDIR)$(ZSH_COMPLETION)/_oncedrop $(DESTDIR)$(FISH_COMPLETION)/oncedrop.fish
	for page in man/*.[1-9]; do rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/}; done
	for file in $(SHARED); do rm -f $(DESTDIR)$(SHAREDIR)/$${file#conf/}; done
	for folder in $(SHAREDIR) $(LABDIR); do \
	  [ ! -d $(DESTDIR)$$folder ] || find $(DESTDIR)$$folder -depth -type d -empty -delete || exit 1; \
	done

# What is released: the tarball, its checksum, and what the program is made of. release/README.md has the steps.
dist:
	@tests/install-packages build
	@$(MAKE) --no-print-directory -s -j "$$(nproc)" all
	@BUILD=$(BUILD) PYTHON=$(PYTHON) release/dist

# build/oncedrop_$(VERSION)_ARCH.deb
deb:
	@tests/install-packages deb
	@BUILD=$(BUILD) PYTHON=$(PYTHON) release/deb $(if $(SOURCE),--source)

# RELEASE=bookworm or trixie; to be run as root.
deb-check:
	@tests/check-deb $(or $(RELEASE),trixie)

# ENGINE=mariadb: with two hosts, instead of PostgreSQL
demo:
	@tests/install-packages demo
	@echo "Building the program."
	@$(MAKE) --no-print-directory -j "$$(nproc)" all
	@ONCEDROP=$(BUILD)/oncedrop ONCEDROP_ENGINE=$(ENGINE) $(PYTHON) -B tests/demo

# Every point, not just a sample; takes long.
faults:
	@tests/install-packages check
	@tests/unpack-servers
	@$(MAKE) --no-print-directory -j "$$(nproc)" all
	@for engine in $(or $(ENGINE),postgres sqlite mariadb); do ONCEDROP_ENGINE=$$engine ONCEDROP=$(BUILD)/oncedrop ONCEDROP_FAULTS=all \
	  ONCEDROP_KILLS=$(KILLS) $(PYTHON) -B -m pytest -q -p no:cacheprovider -n 2 tests/faults || exit 1; done

# Every lock method, with and without PgBouncer, on Dovecot and Cyrus; POINTS= (where each is killed; else at every system
# call) MESSAGES= SEED= (simulated)
methods: $(BUILD)/simulation
	@tests/install-packages check
	@tests/unpack-servers
	@$(MAKE) --no-print-directory -j "$$(nproc)" all
	@BUILD=$(BUILD) MESSAGES=$(MESSAGES) SEED=$(SEED) tests/simulation/run methods
	@for engine in postgres sqlite mariadb; do ONCEDROP_ENGINE=$$engine ONCEDROP=$(BUILD)/oncedrop ONCEDROP_FAULTS=all \
	  ONCEDROP_POINTS=$(POINTS) $(PYTHON) -B -m pytest -q -p no:cacheprovider -n 2 tests/faults/test_methods.py || exit 1; done

# PART="failover cable clocks powercut galera galera_mail"
OF_HOSTS = $(if $(PART),$(foreach part,$(PART),tests/hosts/test_$(part).py),$(wildcard tests/hosts/test_*.py))
OF_GALERA = $(filter tests/hosts/test_galera%,$(OF_HOSTS))
OF_POSTGRES = $(filter-out tests/hosts/test_galera%,$(OF_HOSTS))
OF_FILE = $(filter tests/hosts/test_clocks.py,$(OF_HOSTS))
hosts:
	@tests/install-packages hosts
	@$(MAKE) --no-print-directory -j "$$(nproc)" all
	@$(if $(OF_POSTGRES),ONCEDROP=$(BUILD)/oncedrop ONCEDROP_HOSTS=all $(PYTHON) -B -m pytest -q -p no:cacheprovider -n 2 $(OF_POSTGRES))
	@$(if $(OF_FILE),ONCEDROP=$(BUILD)/oncedrop ONCEDROP_HOSTS=all ONCEDROP_ENGINE=sqlite $(PYTHON) -B -m pytest -q -p no:cacheprovider \
	  $(OF_FILE))
	@$(if $(OF_GALERA),ONCEDROP=$(BUILD)/oncedrop ONCEDROP_HOSTS=all ONCEDROP_ENGINE=mariadb $(PYTHON) -B -m pytest -q -p no:cacheprovider \
	  $(OF_GALERA))

# PART="claim undo" JOBS=2
mutants:
	@tests/install-packages check
	@$(PYTHON) -B tests/mutants/run $(if $(JOBS),--jobs $(JOBS)) $(PART)

replay-load:
	@tests/install-packages check
	@$(MAKE) --no-print-directory -j "$$(nproc)" all
	@ONCEDROP=$(BUILD)/oncedrop ONCEDROP_REPLAY_MESSAGES=10000 ONCEDROP_LEDGER_ROWS=1000000 $(PYTHON) -B -m pytest -q -s \
	  -p no:cacheprovider tests/integration/test_replay_load.py tests/integration/test_operator.py \
	  -k "replay_load or large or end_to_end"

# PARTS="deliver lmtp postfix growth contention locks replay commits crowd scale distance feed" ROUNDS= LONG=yes UNTUNED=yes APART=yes ENGINE=mariadb OTHER=/path/to/an/older/oncedrop
# COMPARE="OLD.json NEW.json"
bench:
	@$(if $(COMPARE),,tests/install-packages bench)
	@$(if $(COMPARE),,$(MAKE) --no-print-directory -j "$$(nproc)" all)
	@ONCEDROP=$(BUILD)/oncedrop $(PYTHON) -B tests/bench --directory $(BUILD)/bench $(if $(PARTS),--parts $(PARTS)) \
	  $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ENGINE),--engine $(ENGINE)) $(if $(LONG),--long) $(if $(UNTUNED),--untuned) $(if $(APART),--apart) \
	  $(if $(OTHER),--other "$(OTHER)") $(if $(COMPARE),--compare $(COMPARE))

# SECONDS=600 HOSTS=3 DELIVERIES=100 SEED=
soak:
	@tests/install-packages check
	@$(MAKE) --no-print-directory -j "$$(nproc)" all
	@ONCEDROP=$(BUILD)/oncedrop $(PYTHON) -B tests/soak/soak $(if $(SECONDS),--seconds $(SECONDS)) \
	  $(if $(HOSTS),--hosts $(HOSTS)) $(if $(DELIVERIES),--deliveries $(DELIVERIES)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(ENGINE),--engine $(ENGINE)) $(if $(SERVERS),--servers $(SERVERS))

# ENGINE=sqlite, postgres or mariadb; COMMAND=, else a shell
lab:
	@tests/install-packages demo
	@$(MAKE) --no-print-directory -j "$$(nproc)" all
	@ONCEDROP=$(BUILD)/oncedrop $(PYTHON) -B tests/oncedrop-lab --engine $(or $(ENGINE),sqlite) -- $(COMMAND)

postfix:
	@tests/install-packages check
	@$(MAKE) --no-print-directory all
	@ONCEDROP=$(BUILD)/oncedrop ONCEDROP_POSTFIX_MESSAGES=200 ONCEDROP_POSTFIX_CYCLES=30 \
	  $(PYTHON) -B -m pytest -q -s -p no:cacheprovider tests/integration/test_postfix_*.py

# Every server by every case; MOMENTS= of the deaths in the middle of an APPEND.
servers:
	@tests/install-packages check
	@tests/unpack-servers
	@$(MAKE) --no-print-directory -j "$$(nproc)" all
	@ONCEDROP=$(BUILD)/oncedrop ONCEDROP_MOMENTS=$(or $(MOMENTS),20) $(PYTHON) -B -m pytest -q -p no:cacheprovider \
	  -n "$$(nproc)" --dist loadgroup tests/integration/test_servers_matrix.py tests/integration/test_server_setups.py

check:
	@tests/install-packages check
	@tests/unpack-servers
	@BUILD=$(BUILD) PYTHON=$(PYTHON) MAKE="$(MAKE)" tests/check

# What check leaves out: it takes longer.
check-all:
	@tests/install-packages check
	@tests/unpack-servers
	@BUILD=$(BUILD) PYTHON=$(PYTHON) MAKE="$(MAKE)" tests/check-all

# RELEASE=bookworm or trixie, COMMANDS='demo check', WHO=user, ARCH=s390x; to be run as root.
check-debian:
	@WHO=$(WHO) ARCH=$(ARCH) tests/check-debian $(or $(RELEASE),trixie) $(COMMANDS)

# ENVIRONMENTS='home umask user'; to be run as root.
check-environments:
	@tests/install-packages check
	@PYTHON=$(PYTHON) tests/check-environments $(ENVIRONMENTS)

check-builds:
	@tests/install-packages check
	@BUILD=$(BUILD) MAKE="$(MAKE)" tests/check-builds

# ENGINE='sqlite postgres mariadb' PARTS='integration faults'
coverage:
	@tests/install-packages coverage
	@tests/unpack-servers
	@BUILD=$(BUILD) PYTHON=$(PYTHON) MAKE="$(MAKE)" ENGINES='$(ENGINE)' PARTS='$(PARTS)' tests/coverage

# RELEASE=bookworm or trixie, FIRST=demo, VERBOSE=yes; to be run as root.
walkthrough:
	@FIRST=$(FIRST) VERBOSE=$(VERBOSE) tests/walkthrough/run $(or $(RELEASE),bookworm)

format:
	@tests/install-packages format
	@find src tests -name '*.[ch]' -exec clang-format -i {} +

lint:
	@tests/install-packages check
	@$(MAKE) --no-print-directory -s -j "$$(nproc)" all
	@BUILD=$(BUILD) tests/lint

help:
	@sed -n 's/^#: //p' Makefile

clean:
	rm -rf build build-*

FORCE:
.PHONY: all upgrade-modules dist deb deb-check postfix walkthrough unit $(UNIT_TESTS:=.run) century differential differential-programs fuzz fuzz-short fuzz-programs install uninstall demo lab faults hosts methods mutants soak bench replay-load servers check check-all format lint check-debian check-environments check-builds coverage help clean \
  FORCE
-include $(OBJECTS:.o=.d) $(FRONT_OBJECTS:.o=.d) $(BUILD)/main.d $(addsuffix .d,$(UNIT_TESTS)) $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%.d)

#: make             build/oncedrop, and build/oncedrop-main.so, which it loads
#: make demo        installs missing Debian packages, builds, and delivers to two people at once, and once more after a crash,
#:                  with a ledger in a file, and then on two hosts with PostgreSQL (or ENGINE=mariadb); it has its own servers
#: make lab         oncedrop-lab(1) with this build: a shell with a private Postfix (as root), Dovecot, service and ledger, which
#:                  end with it: ENGINE=sqlite (or postgres, or mariadb) COMMAND='sh conf/lab/test_mail.sh' (instead of the shell)
#: make check       installs missing Debian packages, builds with sanitizers, and runs the tests that each commit must
#:                  pass, in five minutes; touches no system service
#: make check-all   everything else: both compilers, all other tests with servers, a sample of the long ones, all of lint
#: make check-debian  both commands of README on a fresh Debian in a chroot, as root: RELEASE=trixie (or bookworm)
#:                  COMMANDS='demo check', WHO=user (with sudo), ARCH=s390x (takes qemu-user-static; with COMMANDS='deb demo')
#: make check-environments  the demo, unit tests, and tests with servers of `make check`, in a folder of mode 0700 with a blank and an
#:                  umlaut in its path, in Turkish, with umask 077, as an ordinary user: ENVIRONMENTS='home umask user'; as root
#: make check-builds  both compilers with -O0 to -O3, -flto, fortified sources and Debian's flags; unit tests of each
#: make coverage    which lines and branches the tests reach, by folder: ENGINE='sqlite postgres mariadb' PARTS='integration faults'
#: make walkthrough README's set-up, word for word, for each of the three ways in, with Debian's services on their default
#:                  ports in a chroot; then sends mail; as root: RELEASE=bookworm (or trixie), VERBOSE=yes (shows all output),
#:                  FIRST=demo (installs the packages by `make demo`); `make check-all` does this with this machine's packages
#: make format      formats all C according to .clang-format, in place
#: make lint        that format, clang-tidy, cppcheck, gcc's analyzer, shellcheck, pyflakes, which folder includes what, and the
#:                  words of comments, manuals, messages and names (tests/lint-words.list), and messages that are
#:                  alike (tests/list-messages);
#:                  `make check` leaves out cppcheck, clang-tidy and gcc's analyzer
#: make postfix     long tests with Postfix: 200 messages, 30 restarts; as root
#: make servers     Dovecot, Cyrus and Courier, in all the cases of the table in oncedrop-imap(7), which it prints: MOMENTS=20 (of
#:                  the deaths in the middle of an APPEND); `make check-all` has two
#: make faults      kills a delivery at every system call, cuts and silences its connections at every byte, and kills its
#:                  servers at every step; takes long; `make check-all` runs a sample: ENGINE=sqlite (postgres, mariadb) KILLS=10000
#:                  (of twenty writers of one file)
#: make methods     each lock method, with direct connections and through PgBouncer, on Dovecot and Cyrus: crowds of deliveries,
#:                  one killed at every system call; and each method in the simulator; prints a table: POINTS= (only this many
#:                  system calls) MESSAGES=3000000 SEED= (of the simulator); `make check-all` runs a sample
#: make hosts       a replica is promoted while mail flows; a mail host's cable is pulled in each step; its clock is wrong; the
#:                  power is cut at every fsync; a node of a Galera cluster is killed or cut off: PART="failover cable clocks
#:                  powercut galera galera_mail"; cables only as root; 10 minutes; `make check-all` runs a sample
#: make fuzz        parsers, decoding and dialogues with inputs from libFuzzer, each checked by an oracle:
#:                    TIME=60 (seconds for each target)  RUNS= (inputs for each)  TARGET= (one of tests/fuzz/fuzz_*.c)
#: make century     simulated deliveries, each with at least one fault: MESSAGES=10000000 SEED=; a century of a site with
#:                  10,000 messages a day is 365,000,000 messages and takes some 25 minutes of one processor
#: make differential  random histories on the real ledger and on the simulated one: HISTORIES=10000 SEED=
#: make mutants     breaks the program in each way of tests/mutants/*.patch and reports whether the tests notice:
#:                  PART= (only those with one of these words in their names) JOBS= (in parallel); 15 minutes
#: make replay-load replays 10,000 messages, killed in between; runs the commands on a ledger of a million messages
#: make bench       compares with dovecot-lda, Dovecot's LMTP server, fdm and maildrop, which it installs, in turns on private
#:                  servers with fsync; 10 minutes; writes build/bench/bench.json and bench.svg:
#:                    PARTS="deliver lmtp postfix growth contention locks replay commits crowd scale distance feed"  ROUNDS= (turns of each)
#:                    LONG=yes (also a million messages)  ENGINE=mariadb (also with a ledger there)  UNTUNED=yes (plain servers)
#:                    APART=yes (a processor for the database servers alone)  OTHER=/path/to/an/older/oncedrop
#:                    COMPARE="OLD.json NEW.json" (instead of measuring)
#: make soak        deliveries on several hosts while everything is killed, cut and restarted; then checks every mailbox
#:                  and row: SECONDS=600 HOSTS=3 DELIVERIES=100 (at once) SEED= (to repeat a run) ENGINE=sqlite
#:                  or mariadb
#: make install     the programs, manuals, completion for bash, zsh and fish, a sample configuration, and in share/oncedrop the
#:                  examples for Postfix, Dovecot, Cyrus, Courier, PostgreSQL, PgBouncer, systemd, AppArmor, Grafana,
#:                  applications and their tests, and oncedrop-lab, with these directories in them:
#:                    DESTDIR=      PREFIX=/usr/local      SYSCONFDIR=/etc (to be given to `make` as well)
#:                    LIBEXECDIR=   PREFIX/libexec, for the full program (if given, to `make` as well)
#: make deb         installs what it needs and makes the Debian package build/oncedrop_VERSION_ARCH.deb, with one for each kind
#:                  of ledger, for the Debian it is run on; SOURCE=yes (the source package, too, in build/deb)
#: make deb-check   that on a fresh Debian in a chroot, as root: lintian, two builds that must be the same, and from `apt
#:                  install` to the first message by README: RELEASE=trixie (or bookworm)
#: make dist        the release in build/dist: the tarball, its SHA-256, and an SBOM (SPDX)
#: make V=1         shows every command
#: make uninstall   removes what `make install` has installed; configuration and ledger stay
#: make unit        only the unit tests
#: make clean
