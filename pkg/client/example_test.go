package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// start runs a cluster of one node. In a test use linchpintest.Start.
func start() (db *client.DB, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: dir, Nodes: 1, NoSync: true, Listen: true})
	if err != nil {
		log.Fatal(err)
	}
	db, err = client.Open(context.Background(), c.Addrs())
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		if err := errors.Join(db.Close(), c.Stop(context.Background()), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

// A sale: one ticket per user, exactly as many as there are, in one round trip.
func ExampleDB_Execute() {
	db, stop := start()
	defer stop()
	ctx := context.Background()
	stock := client.NewBoundedCounter("sale/stock")
	if err := stock.Create(ctx, db, 0, 1, 1); err != nil {
		log.Fatal(err)
	}
	for _, user := range []string{"ann", "ann", "bob"} {
		err := db.Execute(ctx, client.PutOp("sale/by/"+user, nil, client.IfAbsent()), stock.SubtractOp(1))
		switch {
		case err == nil:
			fmt.Println(user, "has bought")
		case errors.Is(err, client.ErrConditionFailed):
			fmt.Println(user, "has one")
		case errors.Is(err, client.ErrOutOfRange):
			fmt.Println("sold out")
		default:
			log.Fatal(err)
		}
	}
	// Output:
	// ann has bought
	// ann has one
	// sold out
}

// A transaction that reads, decides and writes. It may run several times.
func ExampleDB_Update() {
	db, stop := start()
	defer stop()
	ctx := context.Background()
	if err := db.Put(ctx, "name", []byte("linchpin")); err != nil {
		log.Fatal(err)
	}
	err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		name, ok, err := tx.GetForUpdate(ctx, "name")
		if err != nil || !ok {
			return err
		}
		return tx.Put(ctx, "name", append(name, '!'))
	})
	if err != nil {
		log.Fatal(err)
	}
	name, _, err := db.Get(ctx, "name")
	fmt.Println(string(name), err)
	// Output: linchpin! <nil>
}

// All reads of a View are of one state.
func ExampleDB_View() {
	db, stop := start()
	defer stop()
	ctx := context.Background()
	alice, bob := client.NewCounter("alice"), client.NewCounter("bob")
	if err := db.Execute(ctx, alice.AddOp(3), bob.AddOp(7)); err != nil {
		log.Fatal(err)
	}
	err := db.View(ctx, func(ctx context.Context, v *client.View) error {
		a, err := alice.Get(ctx, v)
		if err != nil {
			return err
		}
		b, err := bob.Get(ctx, v)
		if err != nil {
			return err
		}
		fmt.Println("together:", a+b)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: together: 10
}

// A scan is a loop.
func ExampleDB_Scan() {
	db, stop := start()
	defer stop()
	ctx := context.Background()
	for key, value := range map[string]string{"fruit/apple": "red", "fruit/banana": "yellow", "root/carrot": "orange"} {
		if err := db.Put(ctx, key, []byte(value)); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range db.Scan(ctx, client.Prefix("fruit/"), client.Reverse()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", e.Key, e.Value)
	}
	// Output:
	// fruit/banana: yellow
	// fruit/apple: red
}

// A page of a leaderboard with the place of one player, both from one state.
func ExampleSortedSet() {
	db, stop := start()
	defer stop()
	ctx := context.Background()
	board := client.NewSortedSet("board", client.String)
	if err := db.Execute(ctx, board.AddOp("ann", 12), board.AddOp("bob", 30), board.AddOp("cid", 7)); err != nil {
		log.Fatal(err)
	}
	top, rank := board.RangeByRevRankOp(0, 1), board.RevRankOp("cid")
	if err := db.Execute(ctx, top, rank); err != nil {
		log.Fatal(err)
	}
	fmt.Println(top.Value(), "cid is number", rank.Value()+1)
	// Output: [{bob 30} {ann 12}] cid is number 3
}

// The outcome of a transaction whose response was lost.
func ExampleDB_Outcome() {
	db, stop := start()
	defer stop()
	ctx := context.Background()
	var report client.Report
	if _, err := client.NewCounter("visits").AddGet(ctx, db.With(client.ReportTo(&report)), 1); err != nil {
		log.Fatal(err)
	}
	sum := client.NewCounter("visits").AddGetOp(1)
	outcome, err := db.Outcome(ctx, report.TxID, sum)
	fmt.Println(outcome, sum.Value(), err)
	// Output: committed 1 <nil>
}
