package stores

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/linchpindb/linchpin/test/compare/child"
	"github.com/linchpindb/linchpin/test/compare/debian"
)

func postgresKind() Kind {
	dirs := []string{"/usr/lib/postgresql/*/bin"}
	return Kind{Key: "postgres", Name: "PostgreSQL", start: startPostgres, Needs: []debian.Program{
		{Name: "postgres", Package: "postgresql", Dirs: dirs},
		{Name: "initdb", Package: "postgresql", Dirs: dirs},
	}}
}

// fewConnections is how many share the work where a row is contended: a caller that
// queues does so in the client, which costs the server nothing.
const fewConnections = 2

// startPostgres makes a cluster with the settings of initdb, and starts it. It
// runs as another user if we are root, because it refuses to run as root.
func startPostgres(ctx context.Context, p Place, s *Server) error {
	user, err := child.Unprivileged("postgres", "nobody")
	if err != nil {
		return err
	}
	if err := user.Own(p.Dir); err != nil {
		return err
	}
	password := rand.Text()
	data := filepath.Join(p.Dir, "data")
	if err := initPostgres(ctx, p, user, data, password); err != nil {
		return err
	}
	ports, err := child.FreePorts(1)
	if err != nil {
		return err
	}
	process, err := s.launch(child.Spec{
		Path: p.Programs["postgres"], Dir: p.Dir, User: user,
		// Asked by SIGTERM it would wait for clients. SIGQUIT takes its children along.
		Quit: syscall.SIGINT, Kill: syscall.SIGQUIT,
		Args: []string{"-D", data, "-p", ports[0], "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", "max_connections=" + strconv.Itoa(p.Clients+10), "-c", "fsync=on", "-c", "synchronous_commit=on"},
	})
	if err != nil {
		return err
	}
	return connectPostgres(ctx, s, process, p.Clients, ports[0], password)
}

func initPostgres(ctx context.Context, p Place, user *child.User, data, password string) error {
	secret := filepath.Join(p.Dir, "password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return err
	}
	if err := user.Own(secret); err != nil {
		return err
	}
	_, err := child.Run(ctx, child.Spec{Path: p.Programs["initdb"], Dir: p.Dir, User: user,
		Args: []string{"-D", data, "-U", "counter", "--pwfile", secret, "--auth", "scram-sha-256", "--encoding", "UTF8",
			"--locale", "C"}})
	return err
}

func connectPostgres(ctx context.Context, s *Server, process *child.Process, clients int, port, password string) error {
	config, err := pgxpool.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%s user=counter password=%s dbname=postgres "+
		"sslmode=disable", port, password))
	if err != nil {
		return err
	}
	many, err := postgresPool(ctx, s, config, clients)
	if err != nil {
		return err
	}
	if err := process.Ready(ctx, many.Ping); err != nil {
		return err
	}
	few, err := postgresPool(ctx, s, config, fewConnections)
	if err != nil {
		return err
	}
	if _, err := many.Exec(ctx, "CREATE TABLE counters (id int PRIMARY KEY, n bigint NOT NULL)"); err != nil {
		return err
	}
	if _, err := many.Exec(ctx, "INSERT INTO counters VALUES (1, 0), (2, 0)"); err != nil {
		return err
	}
	s.Client = fmt.Sprintf("pgx, a pool of %d connections, one for each client, or of %d for all; prepared "+
		"statements, its default", clients, fewConnections)
	s.Ways = []Way{
		postgresWay(many, "PostgreSQL", ", a transaction of its own", 1),
		postgresWay(few, "PostgreSQL, few connections", fmt.Sprintf(", the same over %d connections for which clients queue",
			fewConnections), 2),
	}
	return describePostgres(ctx, s, many)
}

// postgresPool makes a pool of so many connections.
func postgresPool(ctx context.Context, s *Server, config *pgxpool.Config, size int) (*pgxpool.Pool, error) {
	config = config.Copy()
	config.MinConns, config.MaxConns = int32(size), int32(size)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err == nil {
		s.disconnect = append(s.disconnect, func() error { pool.Close(); return nil })
	}
	return pool, err
}

// describePostgres asks the server how it is set.
func describePostgres(ctx context.Context, s *Server, pool *pgxpool.Pool) error {
	get := func(name string) (value string, err error) {
		err = pool.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
		return value, err
	}
	version, err := get("server_version")
	s.Version = version
	for _, name := range []string{"fsync", "synchronous_commit", "wal_sync_method", "full_page_writes",
		"default_transaction_isolation"} {
		value, e := get(name)
		err = errors.Join(err, e)
		if s.Durable != "" {
			s.Durable += ", "
		}
		s.Durable += name + " = " + value
	}
	return err
}

// postgresWay counts in the row with an id. The statement is a transaction.
func postgresWay(pool *pgxpool.Pool, name, how string, id int) Way {
	increment := fmt.Sprintf("UPDATE counters SET n = n + 1 WHERE id = %d", id)
	return Way{
		Name: name, What: increment + how, AtLeast: 20,
		Increment: func(ctx context.Context, _ int) error {
			tag, err := pool.Exec(ctx, increment)
			var refused *pgconn.PgError
			switch {
			case err == nil && tag.RowsAffected() != 1:
				return fmt.Errorf("%d rows were updated", tag.RowsAffected())
			case err == nil, errors.As(err, &refused) && refused.Severity == "ERROR", pgconn.SafeToRetry(err):
				return err // done, refused or not sent
			}
			return unknown(err)
		},
		Value: func(ctx context.Context) (n int64, err error) {
			err = pool.QueryRow(ctx, "SELECT n FROM counters WHERE id = $1", id).Scan(&n)
			return n, err
		},
	}
}
