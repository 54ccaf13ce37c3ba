package stores

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/linchpindb/linchpin/test/compare/child"
	"github.com/linchpindb/linchpin/test/compare/debian"
)

func etcdKind() Kind {
	return Kind{Key: "etcd", Name: "etcd", start: startEtcd,
		Needs: []debian.Program{{Name: "etcd", Package: "etcd-server"}}}
}

// startEtcd starts a cluster of one member with etcd's own settings, and opens
// one client for all callers, as a program has it.
func startEtcd(ctx context.Context, p Place, s *Server) error {
	ports, err := child.FreePorts(2)
	if err != nil {
		return err
	}
	address, peers := "http://"+child.Loopback(ports[0]), "http://"+child.Loopback(ports[1])
	process, err := s.launch(child.Spec{Path: p.Programs["etcd"], Dir: p.Dir, Args: []string{
		"--name", "one", "--data-dir", filepath.Join(p.Dir, "data"), "--logger", "zap",
		"--listen-client-urls", address, "--advertise-client-urls", address,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "one=" + peers}})
	if err != nil {
		return err
	}
	db, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	s.disconnect = append(s.disconnect, db.Close)
	err = process.Ready(ctx, func(ctx context.Context) error {
		status, err := db.Status(ctx, address)
		if err != nil {
			return err
		}
		s.Version = status.Version
		_, err = db.Get(ctx, "anything") // is answered once there is a leader
		return err
	})
	s.Durable = "an answer comes after the fsync of its log, which is the default; one member"
	s.Client = "clientv3, one for all clients of the run: one gRPC connection"
	if err != nil {
		return err
	}
	locked, err := etcdLock(ctx, db, p.Clients)
	s.Ways = []Way{etcdCompare(db), etcdSTM(db), locked, etcdVersion(db)}
	return err
}

// etcdCompare reads the key, and puts it if it is still as it was read.
func etcdCompare(db *clientv3.Client) Way {
	const key = "compared"
	return Way{
		Name: "etcd, get and compare", What: "a get, and a transaction that puts if the key has the same revision; again " +
			"until it does", AtLeast: 20,
		Increment: func(ctx context.Context, _ int) error {
			for {
				n, revision, err := etcdGet(ctx, db, key)
				if err != nil {
					return err
				}
				out, err := db.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
					Then(clientv3.OpPut(key, strconv.FormatInt(n+1, 10))).Commit()
				if err != nil {
					return unknown(err)
				}
				if out.Succeeded {
					return nil
				}
			}
		},
		Value: func(ctx context.Context) (int64, error) {
			n, _, err := etcdGet(ctx, db, key)
			return n, err
		},
	}
}

// etcdGet reads a number and the revision that it was put at, both 0 if it has
// not been.
func etcdGet(ctx context.Context, db *clientv3.Client, key string) (n, revision int64, err error) {
	out, err := db.Get(ctx, key)
	if err != nil || len(out.Kvs) == 0 {
		return 0, 0, err
	}
	n, err = strconv.ParseInt(string(out.Kvs[0].Value), 10, 64)
	return n, out.Kvs[0].ModRevision, err
}

// etcdSTM leaves the loop to etcd's own library. A transaction that fails brings
// back what it has to be tried with next, so that the get is spared.
func etcdSTM(db *clientv3.Client) Way {
	const key = "stm"
	add := func(s concurrency.STM) error {
		n := int64(0)
		if text := s.Get(key); text != "" {
			var err error
			n, err = strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
		}
		s.Put(key, strconv.FormatInt(n+1, 10))
		return nil
	}
	return Way{
		Name: "etcd, its STM", What: "the loop of its package concurrency, which gets the value again with a transaction " +
			"that fails", AtLeast: 20,
		Increment: func(ctx context.Context, _ int) error {
			if _, err := concurrency.NewSTM(db, add, concurrency.WithAbortContext(ctx)); err != nil {
				return unknown(err)
			}
			return nil
		},
		Value: func(ctx context.Context) (int64, error) {
			n, _, err := etcdGet(ctx, db, key)
			return n, err
		},
	}
}

// etcdLock has clients queue for etcd's own lock, each with a lease of its own.
// No attempt is in vain, and what the lock costs is more messages.
func etcdLock(ctx context.Context, db *clientv3.Client, clients int) (Way, error) {
	const key = "locked"
	locks := make([]*concurrency.Mutex, clients)
	for i := range locks {
		// It is kept alive until the client is closed, and ends with the server.
		session, err := concurrency.NewSession(db, concurrency.WithContext(ctx))
		if err != nil {
			return Way{}, err
		}
		locks[i] = concurrency.NewMutex(session, "lock")
	}
	put := func(ctx context.Context, lock *concurrency.Mutex) error {
		n, _, err := etcdGet(ctx, db, key)
		if err != nil {
			return err
		}
		out, err := db.Txn(ctx).If(lock.IsOwner()).Then(clientv3.OpPut(key, strconv.FormatInt(n+1, 10))).Commit()
		if err == nil && !out.Succeeded {
			return errors.New("the lock was lost")
		}
		return err
	}
	return Way{
		Name: "etcd, its lock", What: "the lock of its package concurrency, a get, a transaction that puts if the lock " +
			"is held, and the unlock", AtLeast: 20,
		Increment: func(ctx context.Context, i int) error {
			if err := locks[i].Lock(ctx); err != nil {
				return err
			}
			if err := errors.Join(put(ctx, locks[i]), locks[i].Unlock(ctx)); err != nil {
				return unknown(err)
			}
			return nil
		},
		Value: func(ctx context.Context) (int64, error) {
			n, _, err := etcdGet(ctx, db, key)
			return n, err
		},
	}, nil
}

// etcdVersion counts puts: etcd keeps for each key how often it was put since it
// was made. No loop is needed, and nothing but ones can be added.
func etcdVersion(db *clientv3.Client) Way {
	const key = "version"
	return Way{
		Name: "etcd, put", What: "a put of a key whose version is the counter: it can add ones, and nothing else",
		AtLeast: 20,
		Increment: func(ctx context.Context, _ int) error {
			if _, err := db.Put(ctx, key, ""); err != nil {
				return unknown(err)
			}
			return nil
		},
		Value: func(ctx context.Context) (int64, error) {
			out, err := db.Get(ctx, key)
			if err != nil || len(out.Kvs) == 0 {
				return 0, err
			}
			return out.Kvs[0].Version, nil
		},
	}
}
