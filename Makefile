# pgbulk: a PGXS extension.
#
#   make && make install && make installcheck      PG_CONFIG=... chooses the server, for each of them
#   make unit                                      tests of src/scan, without a server
#   make dist                                      pgbulk-VERSION.zip, as PGXN takes it
#
# The version stands in pgbulk.control alone.

# The folder of this file: packages build outside of it, for several servers from one tree.
srcdir := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
EXTENSION = pgbulk
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(srcdir)/pgbulk.control)
MODULE_big = pgbulk
DATA = $(notdir $(wildcard $(srcdir)/pgbulk--*.sql))
PGFILEDESC = "pgbulk - bulk loader"

# Every folder; a new file needs no line here.
OBJS = $(patsubst $(srcdir)/%.c,%.o,$(sort $(wildcard $(srcdir)/src/*.c $(srcdir)/src/*/*.c)))
OWN_FILES = $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h) $(srcdir)/Makefile $(srcdir)/pgbulk.control

# The libraries that compressed files are read with.  One that is not at hand
# is left out by naming the others, to make install, too: COMPRESSION="gzip zstd".
COMPRESSION ?= gzip lz4 zstd
COMPRESSION_DEFINES = $(if $(filter gzip,$(COMPRESSION)),-DPGBULK_GZIP) \
	$(if $(filter lz4,$(COMPRESSION)),-DPGBULK_LZ4) \
	$(if $(filter zstd,$(COMPRESSION)),-DPGBULK_ZSTD)
SHLIB_LINK = $(if $(filter gzip,$(COMPRESSION)),-lz) \
	$(if $(filter lz4,$(COMPRESSION)),-llz4) \
	$(if $(filter zstd,$(COMPRESSION)),-lzstd)

# Other servers are reached by libpq, which comes with the server.
SHLIB_LINK_INTERNAL = $(libpq)

PG_CPPFLAGS = -I$(srcdir)/src -I$(libpq_srcdir) -DPGBULK_VERSION=\"$(EXTVERSION)\" $(COMPRESSION_DEFINES)

# The server opens a module's symbols to all others, so that a library which has
# a function of the same name may call ours, and we its.  16 and later hide what is
# not marked by themselves; 15 marks nothing.
PG_CPPFLAGS += '-DPGDLLEXPORT=__attribute__((visibility("default")))'
# In C23, which newer compilers take by default, a function declared with () has no arguments; headers of 15 mean any.
# Those of 19 use what its own compiler knew by default, as typeof_unqual, which C23 alone has: there the default stays.
PG_CFLAGS = $(if $(filter 15 16 17 18,$(MAJORVERSION)),-std=gnu17) -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers

# A server's options and headers are made for the compiler that has built it, gcc for most.
PG_CFLAGS += $(if $(findstring clang,$(CC)),-Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes)

REGRESS = $(sort $(patsubst $(srcdir)/sql/%.sql,%,$(wildcard $(srcdir)/sql/*.sql)))
REGRESS_OPTS = --load-extension=$(EXTENSION) --encoding=UTF8

# Bitcode is for the server's JIT, which puts small functions into expressions.  There are
# none here, and it takes clang and as long as the code.
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# A checksum of all sources and of what they are compiled for; workers compare it with the session's.
SOURCES = $(sort $(wildcard $(srcdir)/src/*.c $(srcdir)/src/*/*.c) $(OWN_FILES))
src/server/workers.o: $(SOURCES)
src/server/workers.o: override CPPFLAGS += -DPGBULK_BUILD=\"$(shell (echo '$(made_for)'; cat $(SOURCES)) | cksum | tr ' ' -)\"

# Servers built without --enable-depend do not follow headers.
$(OBJS): $(OWN_FILES) build.stamp

# What the objects are made for, so that another server, or one configured otherwise, another compiler or other options
# and libraries make them anew.  Outside of the sources there are no folders for them yet.
made_for = $(VERSION) $(shell cksum <$(includedir_server)/pg_config.h) $(pkglibdir) $(CC) $(filter-out -Werror,$(COPT)) $(COMPRESSION)
build.stamp: always
	@mkdir -p $(sort $(dir $(OBJS)))
	@echo '$(made_for)' | cmp -s - $@ || echo '$(made_for)' >$@
EXTRA_CLEAN += build.stamp

.PHONY: always unit dist
unit:
	$(MAKE) -C $(srcdir)/test/unit check

dist:
	$(srcdir)/scripts/dist
