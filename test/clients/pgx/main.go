// Go's pgx calls bulk_load: parameters, the row, notices, errors, stdin.
//
// Connects as the environment says (PGHOST ...) to a database that has the
// extension.  The last line is "N passed, N failed".
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var passed, failed int

func check(name string, got, expected any) {
	if reflect.DeepEqual(got, expected) {
		passed++
	} else {
		failed++
		fmt.Printf("failed: %s: got %v, expected %v\n", name, got, expected)
	}
}

func state(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return fmt.Sprint(err)
}

func run(ctx context.Context) error {
	var notices []*pgconn.Notice

	config, err := pgx.ParseConfig("")
	if err != nil {
		return err
	}
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { notices = append(notices, notice) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)

	var path string
	if err = conn.QueryRow(ctx, "SELECT setting || '/pgx.csv' FROM pg_settings WHERE name = 'data_directory'").Scan(&path); err != nil {
		return err
	}
	for _, sql := range []string{
		"DROP TABLE IF EXISTS pgx_t, pgx_log",
		"CREATE TABLE pgx_t (a int, b text)",
		"CREATE TABLE pgx_log (loaded bigint, read bigint)",
		"COPY (VALUES ('1', 'one'), ('N/A', 'two'), ('3', 'thr\u00e9\u00e9')) TO '" + path + "' (FORMAT csv)",
	} {
		if _, err = conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	notices = nil

	type options map[string]any
	var read, loaded, rejected int64
	var elapsed time.Duration
	var details map[string]any
	err = conn.QueryRow(ctx, "SELECT rows_read, rows_loaded, rows_rejected, elapsed, details FROM bulk_load($1, $2, $3)",
		"pgx_t", path, options{"on_error": "ignore", "encoding": "UTF8"}).Scan(&read, &loaded, &rejected, &elapsed, &details)
	if err != nil {
		return err
	}
	check("counters", []int64{read, loaded, rejected}, []int64{3, 2, 1})
	check("elapsed", elapsed > 0, true)
	check("details", details["files"], []any{path})
	check("notices", len(notices), 2)
	if len(notices) == 2 {
		check("notice", notices[0].Message, "1 row was rejected")
		check("hint", notices[1].Hint, `With {"null": ["", "N/A"]} among the options they can be read. In text columns these words then become null, too.`)
	}

	err = conn.QueryRow(ctx, "SELECT rows_loaded FROM bulk_load($1, $2::text[], $3)",
		"pgx_t", []string{path, path}, options{"null": []string{"N/A"}, "truncate": true}).Scan(&loaded)
	check("several files", fmt.Sprint(loaded, err), "6 <nil>")
	err = conn.QueryRow(ctx, "SELECT rows_loaded FROM bulk_load($1, $2, $3)", "pgx_t", path, options{"trunc": true}).Scan(&loaded)
	check("bad option", state(err), "22023")

	var lines strings.Builder
	for i := 0; i < 1000; i++ {
		fmt.Fprintf(&lines, "%d,line %d\n", i, i)
	}
	insert := `INSERT INTO pgx_log SELECT rows_loaded, rows_read FROM bulk_load('pgx_t', 'stdin', '{"truncate": true}')`
	tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader(lines.String()), insert)
	check("stdin", fmt.Sprint(tag, " ", err), "INSERT 0 1 <nil>")
	var count, sum int64
	err = conn.QueryRow(ctx, "SELECT count(*), sum(a) FROM pgx_t").Scan(&count, &sum)
	check("stdin rows", fmt.Sprint(count, sum, err), "1000 499500 <nil>")
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("1,a\nx,b\n"), insert)
	check("stdin error", state(err), "22P02")
	err = conn.QueryRow(ctx, "SELECT count(*) FROM pgx_t").Scan(&count)
	check("nothing of it", fmt.Sprint(count, err), "1000 <nil>")

	if _, err = conn.Exec(ctx, "TRUNCATE pgx_t; SET pgbulk.copy = on; SET pgbulk.copy_min_size = 0"); err != nil {
		return err
	}
	stands := func() string {
		err := conn.QueryRow(ctx, "SELECT count(*), sum(a) FROM pgx_t").Scan(&count, &sum)
		return fmt.Sprint(count, sum, err)
	}
	rows := [][]any{}
	for i := 0; i < 1000; i++ {
		rows = append(rows, []any{int32(i), fmt.Sprintf("line %d", i)})
	}
	n, err := conn.CopyFrom(ctx, pgx.Identifier{"pgx_t"}, []string{"a", "b"}, pgx.CopyFromRows(rows))
	check("CopyFrom", fmt.Sprint(n, err, stands()), "1000 <nil>1000 499500 <nil>")
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"pgx_t"}, []string{"a", "b"}, pgx.CopyFromFunc(func() ([]any, error) {
		if len(rows) == 0 {
			return nil, errors.New("given up")
		}
		rows = rows[1:]
		return []any{int32(1), "x"}, nil
	}))
	check("CopyFrom, given up", strings.Contains(fmt.Sprint(err), "given up"), true)
	plain := "COPY pgx_t FROM STDIN (FORMAT csv)"
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("1,a\nx,b\n"), plain)
	var pgErr *pgconn.PgError
	check("plain COPY, error", errors.As(err, &pgErr) && pgErr.Where == `COPY pgx_t, line 2, column a: "x"`, true)
	check("nothing of either", stands(), "1000 499500 <nil>")
	tag, err = conn.PgConn().CopyFrom(ctx, strings.NewReader(lines.String()), plain)
	check("plain COPY", fmt.Sprint(tag, " ", err, stands()), "COPY 1000 <nil>2000 999000 <nil>")
	err = conn.QueryRow(ctx, "SELECT count FROM bulk_load_statements WHERE statement = 'COPY FROM' AND taken").Scan(&count)
	check("plain COPY is taken", fmt.Sprint(count, err), "4 <nil>")
	_, err = conn.Exec(ctx, "DROP TABLE pgx_t, pgx_log")
	return err
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		failed++
		fmt.Println(err)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
