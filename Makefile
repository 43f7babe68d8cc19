EXTENSION = pgbulk
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(srcdir)/pgbulk.control)
MODULE_big = pgbulk
DATA = pgbulk--1.0.sql
PGFILEDESC = "pgbulk - bulk loader"

# Every room; a new file needs no line here.
srcdir ?= .
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))

PG_CPPFLAGS = -I$(srcdir)/src -DPGBULK_VERSION=\"$(EXTVERSION)\"
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers

REGRESS = $(sort $(patsubst sql/%.sql,%,$(wildcard sql/*.sql)))

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
