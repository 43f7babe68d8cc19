// COPY as Go's lib/pq sends it has the same outcome with pgbulk.copy as without: good and bad rows,
// cancelled in the middle, a connection lost there.
//
// Connects as the environment says (PGHOST ...), as a superuser, to a database that has the extension.  The last line is
// "N passed, N failed".
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/lib/pq"
)

const rows = 5000

var ctx = context.Background()

// a dialer that keeps its last connection
type keeper struct{ last net.Conn }

func (k *keeper) Dial(network, address string) (net.Conn, error) {
	return k.DialTimeout(network, address, time.Minute)
}

func (k *keeper) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	k.last = conn
	return conn, err
}

type connector struct{ keeper *keeper }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	ssl := "sslmode=disable"
	if os.Getenv("PGSSLMODE") != "" {
		ssl = ""
	}
	return pq.DialOpen(c.keeper, ssl)
}

func (c connector) Driver() driver.Driver { return pq.Driver{} }

type session struct {
	*sql.Conn
	keeper *keeper
	pid    int
}

func open(settings string) *session {
	s := &session{keeper: &keeper{}}
	var err error
	if s.Conn, err = sql.OpenDB(connector{s.keeper}).Conn(ctx); err == nil {
		if _, err = s.ExecContext(ctx, settings); err == nil {
			err = s.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&s.pid)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return s
}

func (s *session) ask(sql string) string {
	var answer string
	if err := s.QueryRowContext(ctx, sql).Scan(&answer); err != nil {
		return told(err)
	}
	return answer
}

// What an error says.
func told(err error) string {
	var e *pq.Error
	switch {
	case err == nil:
		return "no error"
	case !errors.As(err, &e):
		return err.Error()
	case e.Code == "57014": // wherever the client was
		return string(e.Code)
	}
	return fmt.Sprintf("%s %s; %s; %s; %s", e.Code, e.Message, e.Detail, e.Hint, e.Where)
}

// A COPY of so many rows, the bad one among them, in a transaction; "meanwhile" is done in its middle.
func (s *session) copy(n, bad int, meanwhile func()) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	statement, err := tx.Prepare(pq.CopyIn("pq_t", "a", "b", "c"))
	if err != nil {
		return err
	}
	// it reads what the server sends until it is closed; the rollback must not read at the same time
	defer statement.Close()
	for i := 0; i < n; i++ {
		if i == n/2 && meanwhile != nil {
			meanwhile()
		}
		var a any = i
		if i == bad {
			a = "x"
		}
		if _, err = statement.Exec(a, strings.Repeat("line\t\\", i%9), float64(i)/4); err != nil {
			return err
		}
	}
	if _, err = statement.Exec(); err != nil {
		return err
	}
	if err = statement.Close(); err != nil {
		return err
	}
	return tx.Commit()
}

var cases = map[string]func(s *session) string{
	"good": func(s *session) string { return told(s.copy(rows, -1, nil)) },
	"none": func(s *session) string { return told(s.copy(0, -1, nil)) },
	"bad":  func(s *session) string { return told(s.copy(rows, rows-2, nil)) },
	"bad, and on": func(s *session) string {
		return told(s.copy(50, 3, nil)) + told(s.copy(rows, -1, nil))
	},
	"cancelled": func(s *session) string {
		return told(s.copy(rows, -1, func() {
			open("LOAD 'pgbulk'").ask(fmt.Sprintf("SELECT pg_cancel_backend(%d)", s.pid))
			time.Sleep(200 * time.Millisecond)
		}))
	},
	"lost": func(s *session) string {
		err := s.copy(rows, -1, func() { s.keeper.last.Close() })
		other := open("LOAD 'pgbulk'")
		defer other.Close()
		for i := 0; i < 1000; i++ {
			if other.ask(fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE pid = %d", s.pid)) == "0" {
				return fmt.Sprint(err != nil)
			}
			time.Sleep(20 * time.Millisecond)
		}
		return "the session is still there"
	},
}

// What the driver says, what then stands in the table, and whether COPY was taken.
func outcome(name, mode string) (string, bool) {
	other := open("DROP TABLE IF EXISTS pq_t; CREATE TABLE pq_t (a int, b text, c float8)")
	defer other.Close()
	s := open("LOAD 'pgbulk'; SET pgbulk.copy_min_size = 0; SET pgbulk.copy = " + mode)
	defer s.Close()
	result := cases[name](s)
	taken := true
	if name != "lost" { // where there is still a session to ask
		taken = s.ask("SELECT count(*) FROM bulk_load_statements WHERE statement = 'COPY FROM' AND taken") != "0"
	}
	return result + " " + other.ask("SELECT concat_ws(' ', count(*), sum(hashtextextended(t::text, 0)::numeric), count(b)) FROM pq_t t"), taken
}

func main() {
	passed, failed := 0, 0
	for name := range cases {
		expected, _ := outcome(name, "off")
		for _, mode := range []string{"on", "exclusive"} {
			if got, taken := outcome(name, mode); got == expected && taken {
				passed++
			} else {
				failed++
				fmt.Printf("failed: %s, %s: got %s, expected %s, taken %v\n", name, mode, got, expected, taken)
			}
		}
	}
	other := open("DROP TABLE pq_t")
	other.Close()
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
