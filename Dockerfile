# The official image of PostgreSQL, and pgbulk in it.
#
#   docker build -t pgbulk .                                     PostgreSQL 18
#   docker build -t pgbulk:17 --build-arg PG_MAJOR=17 .
#
# It is run as that image is; in a database then: CREATE EXTENSION pgbulk.

ARG PG_MAJOR=18

FROM postgres:${PG_MAJOR} AS build
# one server's packages come from one place, so these are of its minor version
RUN apt-get update && apt-get install -y --no-install-recommends \
	gcc libc6-dev liblz4-dev libpq-dev libzstd-dev make postgresql-server-dev-${PG_MAJOR} zlib1g-dev
COPY . /usr/src/pgbulk
WORKDIR /usr/src/pgbulk
RUN make -j"$(nproc)" && make install DESTDIR=/stage

# The libraries that it is linked with are those of the server itself.
FROM postgres:${PG_MAJOR}
COPY --from=build /stage/ /
