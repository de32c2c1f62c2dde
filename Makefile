# oncedrop: make, make install, make check, make demo. `make help` tells more.

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
BUILD ?= build
CC ?= cc
PKG_CONFIG ?= pkg-config
VERSION := 0.1

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings \
  -Wformat=2 -Wundef -Wvla -Wcast-qual -Wimplicit-fallthrough
HARDENING := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE -fstack-clash-protection -fcf-protection
HARDENING_LD := -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed
WERROR ?=
PKGS := libpq gmime-3.0 glib-2.0 gnutls
CPPFLAGS_ALL = -D_GNU_SOURCE -Isrc -I$(BUILD) -DVERSION='"$(VERSION)"' -DSYSCONFDIR='"$(SYSCONFDIR)"' $(CPPFLAGS)
CFLAGS_ALL = -std=gnu11 $(WARNINGS) $(WERROR) $(HARDENING) $(shell $(PKG_CONFIG) --cflags $(PKGS)) $(CFLAGS)
LIBS = $(shell $(PKG_CONFIG) --libs $(PKGS)) -letpan

SOURCES := $(sort $(wildcard src/*/*.c))
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/%.o)
SCHEMA := $(sort $(wildcard src/ledger/schema/*.sql))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/test_*.c)))

all: $(BUILD)/oncedrop

$(BUILD)/oncedrop: $(BUILD)/main.o $(OBJECTS)
	$(CC) $(CFLAGS_ALL) $(HARDENING_LD) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# The schema's SQL files travel inside the program.
$(BUILD)/schema_sql.h: src/ledger/schema/embed.sh $(SCHEMA) Makefile
	@mkdir -p $(@D)
	sh src/ledger/schema/embed.sh $(SCHEMA) > $@.new && mv $@.new $@

$(filter $(BUILD)/ledger/%,$(OBJECTS)): $(BUILD)/schema_sql.h

$(BUILD)/unit/%: tests/unit/%.c $(OBJECTS) Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP $(LDFLAGS) -o $@ $< $(OBJECTS) -lcmocka $(LIBS)

unit: $(UNIT_TESTS)
	@for t in $(UNIT_TESTS); do $$t || exit 1; done

clean:
	rm -rf build build-*

.PHONY: all unit clean
-include $(OBJECTS:.o=.d) $(BUILD)/main.d $(addsuffix .d,$(UNIT_TESTS))
