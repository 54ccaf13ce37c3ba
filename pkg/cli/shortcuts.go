package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// shortcut is a command that calls one method of one type.
type shortcut struct {
	name string
	// method is the method, as "set.add-count"; blind, if there is one, is the method that does the
	// same and returns nothing (--blind).
	method, blind string
	// usage are the arguments behind the key.
	usage, short string
	// least and most bound the number of arguments behind the key; most below 0
	// is no bound.
	least, most int
	// order makes the method's arguments of those of the command line; nil leaves them.
	order func([]string) []string
}

func swapped(a []string) []string { return []string{a[1], a[0]} }

func minusOne([]string) []string { return []string{"-1"} }

func negated(a []string) []string {
	if n, minus := strings.CutPrefix(a[0], "-"); minus {
		return []string{n}
	}
	return []string{"-" + a[0]}
}

// shortcuts have the names of Redis, or names of the type where Redis has no such command.
var shortcuts = []shortcut{
	{"incrby", "counter.add-get", "counter.add", "N", "Add to a counter and print the sum", 1, 1, nil},
	{"decr", "counter.add-get", "counter.add", "", "Subtract 1 from a counter and print the sum", 0, 0, minusOne},
	{"decrby", "counter.add-get", "counter.add", "N", "Subtract from a counter and print the sum", 1, 1, negated},

	{"sadd", "set.add-count", "set.add", "MEMBER...", "Add members to a set and print the number of new ones", 1, -1, nil},
	{"srem", "set.remove-count", "set.remove", "MEMBER...", "Remove members from a set and print the number removed", 1,
		-1, nil},
	{"sismember", "set.contains", "", "MEMBER", "Print whether a set has a member", 1, 1, nil},
	{"scard", "set.len", "", "", "Print the number of members of a set", 0, 0, nil},
	{"smembers", "set.members", "", "", "Print the members of a set", 0, 0, nil},

	{"hset", "map.set", "", "FIELD VALUE [FIELD VALUE...]", "Set fields of a map", 2, -1, nil},
	{"hsetnx", "map.set-if-absent", "", "FIELD VALUE", "Set a field of a map if it is absent, and print whether it was", 2,
		2, nil},
	{"hget", "map.get", "", "FIELD", "Print a field of a map", 1, 1, nil},
	{"hmget", "map.get-many", "", "FIELD...", "Print several fields of a map", 1, -1, nil},
	{"hdel", "map.delete", "", "FIELD...", "Delete fields of a map", 1, -1, nil},
	{"hincrby", "map.increment-get", "map.increment", "FIELD N", "Add to a field of a map and print the sum", 2, 2, nil},
	{"hlen", "map.len", "", "", "Print the number of fields of a map", 0, 0, nil},
	{"hgetall", "map.all", "", "", "Print the fields and values of a map", 0, 0, nil},
	{"hscan", "map.range", "", "FROM LIMIT", "Print some fields of a map, in order, beginning at FROM", 2, 2, nil},
	{"hexists", "map.has", "", "FIELD", "Print whether a map has a field", 1, 1, nil},

	{"zadd", "sorted-set.add", "", "SCORE MEMBER [SCORE MEMBER...]", "Set the scores of members of a sorted set", 2, -1,
		nil},
	{"zincrby", "sorted-set.increment-get", "sorted-set.increment", "N MEMBER",
		"Add to the score of a member and print the sum", 2, 2, swapped},
	{"zrem", "sorted-set.remove", "", "MEMBER...", "Remove members from a sorted set", 1, -1, nil},
	{"zscore", "sorted-set.score", "", "MEMBER", "Print the score of a member", 1, 1, nil},
	{"zrank", "sorted-set.rank", "", "MEMBER", "Print the rank of a member, 0 for the lowest score", 1, 1, nil},
	{"zrevrank", "sorted-set.rev-rank", "", "MEMBER", "Print the rank of a member, 0 for the highest score", 1, 1, nil},
	{"zrange", "sorted-set.range-by-rank", "", "FIRST LAST", "Print members by rank, the lowest score first", 2, 2, nil},
	{"zrevrange", "sorted-set.range-by-rev-rank", "", "FIRST LAST", "Print members by rank, the highest score first", 2, 2,
		nil},
	{"zrangebyscore", "sorted-set.range-by-score", "", "MIN MAX [LIMIT]", "Print the members with scores from MIN to MAX",
		2, 3, nil},
	{"zcard", "sorted-set.len", "", "", "Print the number of members of a sorted set", 0, 0, nil},

	{"rpush", "list.append-len", "list.append", "VALUE...", "Append values to a list and print its length", 1, -1, nil},
	{"lrange", "list.range", "", "FIRST LAST", "Print values of a list; -1 is the last", 2, 2, nil},
	{"llen", "list.len", "", "", "Print the length of a list", 0, 0, nil},
	{"ltrim", "list.trim", "", "FIRST LAST", "Keep only some values of a list; -1 is the last", 2, 2, nil},
	{"lindex", "list.get", "", "INDEX", "Print a value of a list", 1, 1, nil},

	{"topadd", "top-k.add", "", "SCORE MEMBER", "Offer a member with a score to a top-k", 2, 2, nil},
	{"top", "top-k.top", "", "N", "Print the N members of a top-k with the highest scores", 1, 1, nil},
	{"topmax", "top-k.max", "", "", "Print the member of a top-k with the highest score", 0, 0, nil},

	{"sumadd", "summary.add", "", "NUMBER...", "Add numbers to a summary", 1, -1, nil},
	{"sumstats", "summary.stats", "", "", "Print count, sum, mean, extremes and variance of a summary", 0, 0, nil},

	{"bcreate", "bounded-counter.create", "", "FLOOR CEILING [START]", "Create a counter with bounds", 2, 3, nil},
	{"badd", "bounded-counter.try-add", "bounded-counter.add", "N",
		"Add to a bounded counter within its bounds, and print whether that succeeded", 1, 1, nil},
	{"bsub", "bounded-counter.try-subtract", "bounded-counter.subtract", "N",
		"Subtract from a bounded counter within its bounds, and print whether that succeeded", 1, 1, nil},
	{"bget", "bounded-counter.get", "", "", "Print a bounded counter", 0, 0, nil},
	{"bbounds", "bounded-counter.bounds", "", "", "Print the floor and the ceiling of a bounded counter", 0, 0, nil},

	{"newid", "ids.next", "", "[N]", "Print N unique ids, or 1", 0, 1, nil},
}

func (x *shortcut) command() *cobra.Command {
	long := x.short + ". This calls " + x.method + "."
	if x.blind != "" {
		long += "\n\nWith --blind this calls " + x.blind + ", which prints nothing and blocks fewer other operations."
	}
	most := x.most
	if most >= 0 {
		most++
	}
	return callingCommand(strings.TrimSpace(x.name+" KEY "+x.usage), x.short, long+"\n\n"+callNotes, x.example(),
		x.least+1, most, x.blind != "",
		func(_ *cobra.Command, args []string, blind bool) (string, []string, error) {
			method, args := x.method, args[1:]
			if blind {
				method = x.blind
			}
			if x.order != nil {
				args = x.order(args)
			}
			return method, args, nil
		})
}

// example is a command line with samples for the arguments of the usage.
func (x *shortcut) example() string {
	typ, _, _ := strings.Cut(x.method, ".")
	words := []string{" ", "linchpin", x.name, keyOf[typ]}
	for _, w := range strings.Fields(x.usage) {
		if strings.HasPrefix(w, "[") {
			break
		}
		words = append(words, sampleOf[strings.TrimSuffix(w, "...")])
	}
	return strings.Join(words, " ")
}

// keyOf is a key for an example, by type, and sampleOf an argument.
var (
	keyOf = map[string]string{"counter": "visits", "set": "team", "map": "cart", "sorted-set": "points", "list": "log",
		"top-k":   "bids",
		"summary": "ratings", "bounded-counter": "seats", "ids": "orders"}
	sampleOf = map[string]string{"N": "5", "MEMBER": "ann", "FIELD": "lamps", "VALUE": "2", "FROM": "a", "LIMIT": "10",
		"SCORE": "2.5",
		"FIRST": "0", "LAST": "-1", "MIN": "1", "MAX": "10", "INDEX": "-1", "NUMBER": "4.5", "FLOOR": "0", "CEILING": "100"}
)
