module pgbulk/test/clients/pq

go 1.20

require github.com/lib/pq v1.10.9
