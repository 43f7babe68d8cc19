# Sourced by the scripts beside it: packages, servers, the build, and a
# throwaway cluster.  Everything a script makes lies in $WORK, which goes when
# the script ends, or in $CACHE, which git ignores.

set -euo pipefail
umask 022

# What programs print, sort and take for a number is the same on every machine.
unset CDPATH LANGUAGE "${!LC_@}"
export LANG=C.UTF-8 LC_ALL=C.UTF-8

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
ME=${0##*/}
JOBS=$(nproc 2>/dev/null || echo 2)
OLDEST_SERVER=15
KEEP=no

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "$ME" "$*" >&2; exit 1; }

# Prints the comment at the head of the calling script, as its help.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p;}' "$0"; }

# ---------------------------------------------------------------- packages

MISSING=()

# need TEST PACKAGE...: notes the packages where the shell test TEST fails.
need() {
	local test=$1
	shift
	eval "$test" >/dev/null 2>&1 || MISSING+=("$@")
}

root_command() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		sudo "$@"
	else
		return 1
	fi
}

APT_FRESH=no
apt_refresh() {
	[ $APT_FRESH = no ] || return 0
	APT_FRESH=yes
	root_command apt-get update -q >"$WORK/apt.log" 2>&1 || true
}

# Installs what need() noted, or says what to install and ends the script.
install_missing() {
	[ ${#MISSING[@]} -gt 0 ] || return 0
	local command="apt-get install -y ${MISSING[*]}"

	command -v apt-get >/dev/null ||
		die "please install what Debian calls: ${MISSING[*]}"
	root_command true || die "packages are missing; as root run: apt-get update && $command"
	say "installing: ${MISSING[*]}"
	apt_refresh
	root_command env DEBIAN_FRONTEND=noninteractive $command >>"$WORK/apt.log" 2>&1 ||
		{ tail -n 5 "$WORK/apt.log" >&2; die "this failed: $command"; }
	MISSING=()
}

# ----------------------------------------------------------------- servers

server_major() { "$1" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'; }

# A server to run: new enough, with its program.
server_runs() {
	[ -x "$1" ] && [ -x "$("$1" --bindir)/initdb" ] && [ "$(server_major "$1")" -ge $OLDEST_SERVER ]
}

# One to build for, too.  Its pgxs.mk comes with the server, its headers often apart.
server_usable() {
	server_runs "$1" && [ -f "$("$1" --pgxs)" ] && [ -f "$("$1" --includedir-server)/postgres.h" ]
}

# Every usable pg_config, the newest first.
servers_found() {
	local c
	for c in /usr/lib/postgresql/*/bin/pg_config /usr/pgsql-*/bin/pg_config \
		"$(command -v pg_config || true)"; do
		if server_usable "$c"; then
			echo "$(server_major "$c") $("$c" --bindir)/pg_config"
		fi
	done | sort -rnu | cut -d' ' -f2
}

# The newest of Debian's servers here whose headers a package has.
server_without_headers() {
	local c
	for c in /usr/lib/postgresql/*/bin/pg_config; do
		if server_runs "$c" && apt-cache show "postgresql-server-dev-$(server_major "$c")" >/dev/null 2>&1; then
			server_major "$c"
		fi
	done | sort -n | tail -n 1
}

# Notes for install_missing() what is missing of a server: the headers of one that
# is here, or the distribution's.
server_need() {
	local major
	if [ -n "${PG_CONFIG:-}" ] || [ -n "$(servers_found)" ]; then
		return
	fi
	command -v apt-get >/dev/null || die "no PostgreSQL $OLDEST_SERVER or newer found, with its headers; set PG_CONFIG"
	apt_refresh
	major=$(server_without_headers)
	if [ -n "$major" ]; then
		MISSING+=("postgresql-server-dev-$major")
		return
	fi
	# empty where the machine's package lists are
	major=$(apt-cache depends postgresql 2>/dev/null |
		sed -n 's/.*Depends: postgresql-\([0-9]\{1,\}\)$/\1/p' | head -n 1) || true
	if [ -z "$major" ]; then
		MISSING+=(postgresql postgresql-server-dev-all)
	elif [ "$major" -ge $OLDEST_SERVER ]; then
		MISSING+=("postgresql-$major" "postgresql-server-dev-$major")
	else
		die "this system packages PostgreSQL $major, pgbulk needs $OLDEST_SERVER; set PG_CONFIG"
	fi
}

# Sets PG_CONFIG: the caller's, else the newest found.
server_find() {
	if [ -n "${PG_CONFIG:-}" ]; then
		PG_CONFIG=$(command -v "$PG_CONFIG") || die "PG_CONFIG is not a program"
		server_usable "$PG_CONFIG" || die \
			"$PG_CONFIG: need PostgreSQL $OLDEST_SERVER or newer, with its server and its development files"
	else
		PG_CONFIG=$(servers_found | head -n 1)
		[ -n "$PG_CONFIG" ] || die "no usable PostgreSQL $OLDEST_SERVER or newer; set PG_CONFIG"
	fi
}

has_header() { echo "#include <$1>" | cc -E -x c -; }

# What every script needs: a compiler, libraries and a server.
prepare() {
	need 'command -v gcc && command -v make' gcc make libc6-dev
	[ -z "${CC:-}" ] || need 'command -v "$CC"' "$CC"
	need 'has_header zlib.h' zlib1g-dev
	need 'has_header lz4frame.h' liblz4-dev
	need 'has_header zstd.h' libzstd-dev
	server_need
	install_missing
	server_find
	server_user_refresh
}

# server_use PG_CONFIG: what follows builds for and runs this server.
server_use() {
	PG_CONFIG=$1
	PGBIN=$("$PG_CONFIG" --bindir)
	PGMAJOR=$(server_major "$PG_CONFIG")
	PATH=$PGBIN:$BASE_PATH
}
BASE_PATH=$PATH

# ---------------------------------------------------------------- checkers

# How a server is compiled that finds what it does wrong with its memory.
SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all"

# What a server runs by, where that is not its own program alone, and how much longer it takes.
SERVER_PROGRAM=
SLOWER=1

# How pgbulk is compiled for it, too.
CHECKER_COPT=

# checker_use NAME: what programs of a server that was built for it do with what it finds: they
# write it to files of $WORK/reports, or to their logs.  No leaks, as short-lived programs have
# many.  Of pgbulk all is told that is undefined, not the first alone.
checker_use() {
	local common=print_stacktrace=1:abort_on_error=1:log_path=$WORK/reports/sanitizer
	mkdir "$WORK/reports"
	own "$WORK/reports"
	export PGCTLTIMEOUT=900
	case $1 in
		sanitize)
			SLOWER=4
			CHECKER_COPT=-fsanitize-recover=undefined
			# libraries that tests preload come before the sanitizers', and call these
			export ASAN_OPTIONS=$common:detect_leaks=0:detect_stack_use_after_return=0:verify_asan_link_order=0
			export UBSAN_OPTIONS=$common PGBULK_TEST_SANITIZE=$SANITIZE
			;;
		valgrind)
			SLOWER=40
			need 'command -v valgrind' valgrind
			;;
	esac
}

# checker_server: has the server in use run under valgrind.
checker_server() {
	[ "$1" = valgrind ] || return 0
	SERVER_PROGRAM=$WORK/postgres
	install -m 644 "$ROOT/test/valgrind.supp" "$WORK"
	cat >"$SERVER_PROGRAM" <<-EOF
		#!/bin/sh
		exec valgrind --quiet --leak-check=no --num-callers=30 --error-markers=BEGIN,END --gen-suppressions=all \\
			--suppressions="$PGBIN/../valgrind.supp" --suppressions="$WORK/valgrind.supp" \\
			--log-file="$WORK/reports/valgrind.%p" "$PGBIN/postgres" "\$@"
	EOF
	chmod 755 "$SERVER_PROGRAM"
}

# ------------------------------------------------------------ places, users

# The server does not run as root.
if [ "$(id -u)" != 0 ]; then
	SERVER_USER=
elif id postgres >/dev/null 2>&1; then
	SERVER_USER=postgres
else
	SERVER_USER=nobody
fi

as_server() {
	if [ -z "$SERVER_USER" ]; then
		"$@"
	else
		(cd "$WORK" && HOME=$WORK TMPDIR=$WORK/tmp setpriv --reuid="$SERVER_USER" \
			--regid="$(id -g "$SERVER_USER")" --init-groups -- "$@")
	fi
}

# The system's Python, which the server's user can run; a user's own may lie in
# a home folder.
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3

# Installing the server brings its user along.
server_user_refresh() {
	if [ "$SERVER_USER" = nobody ] && id postgres >/dev/null 2>&1; then
		SERVER_USER=postgres
	fi
	own "$WORK"
}

own() { [ -z "$SERVER_USER" ] || chown -R "$SERVER_USER" "$@"; }

# Where the server's user can make a file of its own.
server_may_write() {
	local run=()
	[ -z "$SERVER_USER" ] || run=(setpriv --reuid="$SERVER_USER" --regid="$(id -g "$SERVER_USER")" --init-groups)
	"${run[@]}" test -w "$1" && "${run[@]}" test -x "$1"
}

# Sets WORK: in TMPDIR if that is a folder that the server's user can reach, which a
# user's own (libpam-tmpdir) is not, and whose path leaves room for a socket's, of 107 bytes.
work_begin() {
	local place
	for place in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
		place=$(cd "$place" 2>/dev/null && pwd -P) || continue
		[ ${#place} -le 65 ] && server_may_write "$place" && break
		place=
	done
	[ -n "$place" ] || die "neither TMPDIR nor /tmp nor /var/tmp can be written by ${SERVER_USER:-you}"
	WORK=$(mktemp -d "$place/pgbulk.XXXXXX")
	chmod 755 "$WORK"
	mkdir "$WORK/tmp" "$WORK/socket"
	export TMPDIR=$WORK/tmp
	own "$WORK"
	trap work_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

work_end() {
	local rc=$?
	trap - EXIT
	if [ $KEEP = no ]; then
		cluster_stop immediate
		stage_remove || true
		cd /
		rm -rf "$WORK"
	fi
	exit $rc
}

# folder_own DIR: makes it where it is missing; whether it is yours, and nobody else can write there.
folder_own() {
	mkdir -p "$1" && [ ! -L "$1" ] && [ -O "$1" ] && [ -z "$(find "$1" -prune \( -perm -020 -o -perm -002 \))" ]
}

# cache_begin [served]: sets CACHE, kept between runs: .build in the checkout.  Where
# that cannot be written, it lasts for this run alone.  "served" is one that the server's
# user reads, too: in /var/tmp where it cannot reach the checkout.
cache_begin() {
	CACHE=${PGBULK_CACHE:-$ROOT/.build}
	if mkdir -p "$CACHE" 2>/dev/null && [ -w "$CACHE" ] && { [ $# = 0 ] || as_server test -x "$CACHE"; }; then
		return
	fi
	CACHE=$WORK/cache
	if [ $# -gt 0 ]; then
		CACHE=/var/tmp/pgbulk-$(id -u)
		# programs in it are run, and anybody can make folders there
		folder_own "$CACHE" || die "$CACHE is not yours, or others can write there: remove it, or set PGBULK_CACHE to another folder"
		say "note: the server's user cannot reach $ROOT/.build: $CACHE stays instead" >&2
	fi
	mkdir -p "$CACHE"
}

# ------------------------------------------------------------------- build

# tree_copy DIR: the sources into DIR.  Objects that DIR has stay, and so do the
# times of files that did not change: make builds what did, even where a file
# changed while it was built from an older copy.
tree_copy() {
	local new=$1.new f
	rm -rf "$new"
	mkdir -p "$1" "$new"
	tar -C "$ROOT" -cf - --exclude=./.git --exclude=./.build --exclude=./bench/out --exclude=./results --exclude='*.o' \
		--exclude='*.so' --exclude='*.bc' --exclude='*.stamp' . | tar -C "$new" --no-same-owner -xmf -
	(cd "$1" && find . -type f) | while IFS= read -r f; do
		case $f in
			*.o | *.so | *.stamp) [ ! -d "$new/${f%/*}" ] || mv "$1/$f" "$new/$f" ;;
			*) ! cmp -s "$1/$f" "$new/$f" || mv "$1/$f" "$new/$f" ;;
		esac
	done
	rm -rf "$1"
	mv "$new" "$1"
}

# pgxs DIR ARGUMENT...: make in DIR for the server in use, by the compiler that CC names or the
# server's own.
pgxs() {
	local dir=$1
	shift
	make -s -C "$dir" PG_CONFIG="$PG_CONFIG" ${CC:+CC="$CC"} ${CHECKER_COPT:+COPT="$CHECKER_COPT"} "$@"
}

# A server of scripts/assert-server, which is there for tests alone.
test_server() { [ -d "$(dirname "$PGBIN")/suites" ]; }

# stage_make DIR ARGUMENT...: installs the build in DIR.
stage_make() {
	local dir=$1
	shift
	pgxs "$dir" install "$@" >"$WORK/install.log" 2>&1 || { tail -n 30 "$WORK/install.log"; die "make install failed"; }
}

# The server into whose own folders this script has installed, where it had none.
INSTALLED=

# stage_install DIR: installs the build in DIR beside the server rather than in
# it, where the server can look elsewhere; $WORK/stage.conf tells it so.  Else in it, until
# the script ends, and not over a pgbulk that is there, but for that of a script that runs this one.
stage_install() {
	local share lib
	share=$("$PG_CONFIG" --sharedir)
	lib=$("$PG_CONFIG" --pkglibdir)
	rm -rf "$WORK/stage"
	if [ "$PGMAJOR" -ge 18 ]; then
		stage_make "$1" DESTDIR="$WORK/stage"
		cat >"$WORK/stage.conf" <<-EOF
			extension_control_path = '$WORK/stage$share:\$system'
			dynamic_library_path = '$WORK/stage$lib:\$libdir'
		EOF
	elif grep -q extension_destdir "$PGBIN/postgres"; then
		stage_make "$1" DESTDIR="$WORK/stage"
		# that is for extensions; libraries that are preloaded are looked for otherwise
		cat >"$WORK/stage.conf" <<-EOF
			extension_destdir = '$WORK/stage'
			dynamic_library_path = '$WORK/stage$lib:\$libdir'
		EOF
	elif [ ! -w "$share/extension" ] || [ ! -w "$lib" ]; then
		die "this server finds extensions only in its own folders, and you may not write in $lib: run this as root, or set PG_CONFIG to another one"
	else
		if ! test_server && [ "${PGBULK_STAGED:-}" != "$PG_CONFIG" ]; then
			[ ! -e "$share/extension/pgbulk.control" ] && [ ! -e "$lib/pgbulk.so" ] ||
				die "this server finds extensions only in its own folders, and has a pgbulk in $lib, which this would replace: first run make uninstall PG_CONFIG=$PG_CONFIG, or set PG_CONFIG to another one"
			say "note: this server finds extensions only in its own folders: pgbulk is in $lib until this ends, or with --keep until make uninstall PG_CONFIG=$PG_CONFIG" >&2
			INSTALLED=$PG_CONFIG
			export PGBULK_STAGED=$PG_CONFIG
		fi
		stage_make "$1"
		: >"$WORK/stage.conf"
	fi
}

# stage_remove: what stage_install has put into a server's own folders.
stage_remove() {
	[ -n "$INSTALLED" ] || return 0
	PG_CONFIG=$INSTALLED pgxs "$ROOT" uninstall
	INSTALLED=
}

# stage_build: the checkout, built and installed so; or what BUILT names, a tree that has
# been built before, and only what has changed since.
stage_build() {
	[ -z "${BUILT:-}" ] || cp -a "$BUILT" "$WORK/build"
	tree_copy "$WORK/build"
	pgxs "$WORK/build" -j"$JOBS" >"$WORK/build.log" 2>&1 || { tail -n 30 "$WORK/build.log"; die "the build failed"; }
	stage_install "$WORK/build"
}

# Of what scripts/suites runs, the folders.
SUITES_CONTRIB=(file_fdw postgres_fdw amcheck citext cube hstore isn ltree pageinspect pgstattuple seg)
SUITES_BIN=(pg_dump psql pg_upgrade scripts pg_amcheck)

# suites_copy SOURCE DIR: what it needs of a server's sources.
suites_copy() {
	local parts=(src/test/{regress,isolation,recovery,perl} "${SUITES_CONTRIB[@]/#/contrib/}")
	local name
	for name in "${SUITES_BIN[@]}"; do
		parts+=("src/bin/$name/t")
	done
	mkdir -p "$2"
	tar -C "$1" -cf - --exclude='*.o' --exclude='*.so' --exclude=tmp_check "${parts[@]}" | tar -C "$2" --no-same-owner -xf -
}

# ---------------------------------------------------------------- clusters

# server_start DATA PORT LOG [SETTING...]: a new cluster in the folder DATA, whose server
# has a Unix socket only.
server_start() {
	local data=$1 port=$2 log=$3 locale=C.UTF-8
	shift 3
	if locale -a 2>/dev/null | grep -qi '^en_US\.utf-\?8$'; then
		locale=en_US.UTF-8
	fi
	as_server "$PGBIN/initdb" -D "$data" -U postgres -A trust -k -E UTF8 --locale=$locale \
		--no-sync >"$WORK/initdb.log" 2>&1 || { cat "$WORK/initdb.log" >&2; die "initdb failed"; }
	{
		echo "listen_addresses = ''"
		echo "port = $port"
		echo "unix_socket_directories = '$WORK/socket'"
		echo "log_line_prefix = '%m [%p] %q%d %e '"
		cat "$WORK/stage.conf"
		printf '%s\n' "$@"
	} >>"$data/postgresql.conf"
	data_start "$data" "$log"
}

# data_start DATA LOG: starts a server that has been stopped.
data_start() {
	as_server "$PGBIN/pg_ctl" -D "$1" -l "$2" ${SERVER_PROGRAM:+-p "$SERVER_PROGRAM"} -w start >"$WORK/pg_ctl.log" 2>&1 ||
		{ tail -n 20 "$2" >&2; die "the server did not start"; }
}

# cluster_start [SETTING...]: one in $WORK, which is psql's from then on.
cluster_start() {
	CLUSTER=$WORK/data
	unset PGSERVICE PGPASSWORD PGOPTIONS PGCLIENTENCODING PGDATA
	export PGHOST=$WORK/socket PGPORT=5432 PGUSER=postgres PGDATABASE=postgres PATH
	server_start "$CLUSTER" $PGPORT "$WORK/server.log" "$@"
}

# node_start PORT [SETTING...]: another one beside it; its socket is in the same folder.
node_start() {
	local port=$1
	shift
	server_start "$WORK/node-$port" "$port" "$WORK/node-$port.log" "$@"
}

# free_port: one for TCP that nobody listens to.
free_port() { "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# data_stop DATA [MODE]
data_stop() {
	[ ! -f "$1/postmaster.pid" ] || as_server "$PGBIN/pg_ctl" -D "$1" -m "${2:-fast}" -w stop >/dev/null 2>&1 || true
}

# nodes_stop [MODE]
nodes_stop() {
	local data
	for data in "$WORK"/node-*; do
		data_stop "$data" "$@"
	done
}

# cluster_stop [MODE]: stops it, and those beside it.
cluster_stop() {
	nodes_stop "$@"
	[ -z "${CLUSTER:-}" ] || data_stop "$CLUSTER" "$@"
}

# -------------------------------------------------------------------- demos

if [ -t 1 ]; then BOLD=$'\e[1m' PLAIN=$'\e[0m'; else BOLD= PLAIN=; fi
step() { printf '\n%s%s%s\n' "$BOLD" "$*" "$PLAIN"; }

# show SQL [SETTING]: a statement, then what it answers.
show() {
	printf '%s;\n' "$1" | sed 's/^/  /'
	# messages are wrapped, and what is wide of the result is cut
	printf '%s\n%s;\n' "${2:-\pset footer off}" "$1" | psql -Xq 2>&1 |
		sed '/^[A-Z]*:  /!s/^\(.\{114\}\).\{1,\}/\1.../' | fold -s -w 118 | sed 's/^/  /'
}
