package client_test

import (
	"context"
	"fmt"
	"log"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// The same handle works in a transaction, in a View and alone.
func ExampleCounter() {
	db, stop := serve()
	defer stop()
	ctx := context.Background()
	likes := client.Counter("likes")

	err := db.Update(ctx, func(tx *client.Tx) error { return likes.Add(tx, 2) })
	if err != nil {
		log.Fatal(err)
	}
	n, err := likes.AddGet(db.OneShot(ctx), 1)
	fmt.Println(n, err)
	// Output: 3 <nil>
}

// Two who add to a set do not wait for each other, whatever they add.
func ExampleSet() {
	db, stop := serve()
	defer stop()
	ctx := context.Background()
	tags := client.NewSet("post:1:tags", client.Strings)

	err := db.Update(ctx, func(tx *client.Tx) error {
		if err := tags.Add(tx, "go", "database"); err != nil {
			return err
		}
		is, err := tags.Contains(tx, "go")
		fmt.Println("go:", is)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tags.Members(db.OneShot(ctx)))
	// Output:
	// go: true
	// [database go] <nil>
}

// A dict's values are of any type that has a codec.
func ExampleDict() {
	db, stop := serve()
	defer stop()
	once := db.OneShot(context.Background())

	type item struct{ Name string }
	cart := client.NewDict("cart:1", client.JSON[item]())
	if err := cart.Set(once, "17", item{"lamp"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(cart.Get(once, "17"))
	_, ok, err := cart.Get(once, "18")
	fmt.Println(ok, err)
	// Output:
	// {lamp} true <nil>
	// false <nil>
}

// A stock that is never sold out twice.
func ExampleBoundedCounter() {
	db, stop := serve()
	defer stop()
	once := db.OneShot(context.Background())

	seats := client.BoundedCounter("seats")
	if err := seats.Create(once, 0, 100, 2); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		fmt.Println(seats.TrySubtract(once, 1))
	}
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

// A ranking by points.
func ExampleScoredSet() {
	db, stop := serve()
	defer stop()
	once := db.OneShot(context.Background())

	points := client.NewScoredSet("points", client.Strings)
	for _, player := range []string{"ann", "bob", "ann"} {
		if err := points.Increment(once, player, 1.5); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(points.ByRankDesc(once, 0, 9))
	// Output: [{ann 3} {bob 1.5}] <nil>
}

// The highest bid, without a queue of bidders.
func ExampleTopK() {
	db, stop := serve()
	defer stop()
	once := db.OneShot(context.Background())

	bids := client.NewTopK("auction:7", client.Strings)
	for bidder, bid := range map[string]float64{"ann": 10, "bob": 12.5, "eve": 11} {
		if err := bids.Add(once, bid, bidder); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(bids.Max(once))
	// Output: {bob 12.5} true <nil>
}

// What is known of measurements without keeping them.
func ExampleBag() {
	db, stop := serve()
	defer stop()
	once := db.OneShot(context.Background())

	ratings := client.Bag("ratings")
	if err := ratings.Add(once, 4, 5, 3); err != nil {
		log.Fatal(err)
	}
	s, err := ratings.Summary(once)
	fmt.Println(s.Count, s.Mean, err)
	// Output: 3 4 <nil>
}
