package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// serve starts a node with an empty store and opens a client of it.
func serve() (db *client.DB, stop func()) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	srv, err := server.New(servertest.New(), server.Options{GRPC: []grpc.ServerOption{grpc.WaitForHandlers(true)}})
	if err != nil {
		log.Fatal(err)
	}
	go srv.Serve(lis)
	db, err = client.Open(context.Background(), []string{lis.Addr().String()})
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		db.Close()
		srv.Stop()
	}
}

// Operations that are all known beforehand go in one message.
func ExampleDB_Execute() {
	db, stop := serve()
	defer stop()
	ctx := context.Background()

	out, err := db.Execute(ctx,
		client.PutIfAbsent([]byte("user:1"), []byte("Ada")),
		client.AddGet([]byte("users"), 1),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("users:", out.Results[1].Number)

	// A condition that does not hold fails the transaction as a whole.
	_, err = db.Execute(ctx,
		client.AddGet([]byte("users"), 1),
		client.PutIfAbsent([]byte("user:1"), []byte("Grace")),
	)
	var e *client.Error
	if errors.As(err, &e) && e.Kind == kv.KindConditionFailed {
		fmt.Printf("operation %d: %s is %s already\n", e.Op, e.Key, e.Current.Value)
	}
	// Output:
	// users: 1
	// operation 1: user:1 is Ada already
}

// A function that reads, decides and writes is run again if it loses against
// another transaction.
func ExampleDB_Update() {
	db, stop := serve()
	defer stop()
	ctx := context.Background()
	errPoor := errors.New("not enough money")

	transfer := func(from, to string, amount int64) error {
		return db.Update(ctx, func(tx *client.Tx) error {
			have, err := tx.GetForUpdate([]byte(from))
			if err != nil {
				return err
			}
			if have.Number < amount {
				return errPoor // rolls back
			}
			if err := tx.Add([]byte(from), -amount); err != nil {
				return err
			}
			return tx.Add([]byte(to), amount)
		})
	}
	if _, err := db.Execute(ctx, client.Add([]byte("alice"), 10)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(transfer("alice", "bob", 7))
	fmt.Println(transfer("alice", "bob", 7))
	// Output:
	// <nil>
	// not enough money
}

// Everything that a View sees is of one moment.
func ExampleDB_View() {
	db, stop := serve()
	defer stop()
	ctx := context.Background()
	if _, err := db.Execute(ctx, client.Add([]byte("alice"), 3), client.Add([]byte("bob"), 7)); err != nil {
		log.Fatal(err)
	}
	err := db.View(ctx, func(ro *client.ReadTx) error {
		a, err := ro.Get([]byte("alice"))
		if err != nil {
			return err
		}
		b, err := ro.Get([]byte("bob"))
		if err != nil {
			return err
		}
		fmt.Println("together:", a.Number+b.Number)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: together: 10
}

// A scan is a loop.
func ExampleDB_Scan() {
	db, stop := serve()
	defer stop()
	ctx := context.Background()
	if _, err := db.Execute(ctx, client.Put([]byte("fruit/apple"), []byte("red")), client.Put([]byte("fruit/banana"), []byte("yellow")),
		client.Put([]byte("root/carrot"), []byte("orange"))); err != nil {
		log.Fatal(err)
	}
	for p, err := range db.Scan(ctx, []byte("fruit/"), []byte("fruit0"), client.ScanOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", p.Key, p.Value)
	}
	// Output:
	// fruit/apple: red
	// fruit/banana: yellow
}

// When a context ends while a transaction is on its way, its outcome may be
// unknown. The error has the id to ask with.
func ExampleDB_Outcome() {
	db, stop := serve()
	defer stop()
	ctx := context.Background()

	out, err := db.Execute(ctx, client.AddGet([]byte("visits"), 1))
	if err != nil {
		log.Fatal(err)
	}
	committed, results, err := db.Outcome(ctx, out.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(committed, results[0].Number)
	// Output: true 1
}
