package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// shortcut is a command that calls one method of one type.
type shortcut struct {
	name string
	// method is what it calls, as "set.add-count"; blind, if there is one, does the
	// same without an answer (--blind).
	method, blind string
	// usage are the arguments behind the key.
	usage, short string
	// least and most bound the number of arguments behind the key; most below 0
	// is no bound.
	least, most int
	// order gives the method's arguments; nil: they are as on the command line.
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

// shortcuts are named as Redis users expect; what Redis has not is named after
// its type.
var shortcuts = []shortcut{
	{"incrby", "counter.add-get", "counter.add", "N", "Add to a counter and print the sum", 1, 1, nil},
	{"decr", "counter.add-get", "counter.add", "", "Take 1 from a counter and print what is left", 0, 0, minusOne},
	{"decrby", "counter.add-get", "counter.add", "N", "Take from a counter and print what is left", 1, 1, negated},

	{"sadd", "set.add-count", "set.add", "MEMBER...", "Add members to a set and print how many were new", 1, -1, nil},
	{"srem", "set.remove-count", "set.remove", "MEMBER...", "Remove members of a set and print how many were there", 1, -1, nil},
	{"sismember", "set.contains", "", "MEMBER", "Print whether a set has a member", 1, 1, nil},
	{"scard", "set.len", "", "", "Print how many members a set has", 0, 0, nil},
	{"smembers", "set.members", "", "", "Print the members of a set", 0, 0, nil},

	{"hset", "map.set", "", "FIELD VALUE [FIELD VALUE...]", "Set fields of a map", 2, -1, nil},
	{"hsetnx", "map.set-if-absent", "", "FIELD VALUE", "Set a field of a map that is not there, and print whether that was so", 2, 2, nil},
	{"hget", "map.get", "", "FIELD", "Print a field of a map", 1, 1, nil},
	{"hmget", "map.get-many", "", "FIELD...", "Print fields of a map", 1, -1, nil},
	{"hdel", "map.delete", "", "FIELD...", "Remove fields of a map", 1, -1, nil},
	{"hincrby", "map.increment-get", "map.increment", "FIELD N", "Add to a field of a map and print the sum", 2, 2, nil},
	{"hlen", "map.len", "", "", "Print how many fields a map has", 0, 0, nil},
	{"hgetall", "map.all", "", "", "Print the fields of a map and their values", 0, 0, nil},
	{"hscan", "map.range", "", "FROM LIMIT", "Print fields of a map from one on", 2, 2, nil},
	{"hexists", "map.has", "", "FIELD", "Print whether a map has a field", 1, 1, nil},

	{"zadd", "sorted-set.add", "", "SCORE MEMBER [SCORE MEMBER...]", "Set the scores of members of a sorted set", 2, -1, nil},
	{"zincrby", "sorted-set.increment-get", "sorted-set.increment", "N MEMBER", "Add to the score of a member and print the sum", 2, 2, swapped},
	{"zrem", "sorted-set.remove", "", "MEMBER...", "Remove members of a sorted set", 1, -1, nil},
	{"zscore", "sorted-set.score", "", "MEMBER", "Print the score of a member", 1, 1, nil},
	{"zrank", "sorted-set.rank", "", "MEMBER", "Print the place of a member, 0 for the lowest score", 1, 1, nil},
	{"zrevrank", "sorted-set.rev-rank", "", "MEMBER", "Print the place of a member, 0 for the highest score", 1, 1, nil},
	{"zrange", "sorted-set.range-by-rank", "", "FIRST LAST", "Print members by place, the lowest score first", 2, 2, nil},
	{"zrevrange", "sorted-set.range-by-rev-rank", "", "FIRST LAST", "Print members by place, the highest score first", 2, 2, nil},
	{"zrangebyscore", "sorted-set.range-by-score", "", "MIN MAX [LIMIT]", "Print the members with scores from MIN to MAX", 2, 3, nil},
	{"zcard", "sorted-set.len", "", "", "Print how many members a sorted set has", 0, 0, nil},

	{"rpush", "list.append-len", "list.append", "VALUE...", "Append values to a list and print its length", 1, -1, nil},
	{"lrange", "list.range", "", "FIRST LAST", "Print values of a list; -1 is the last", 2, 2, nil},
	{"llen", "list.len", "", "", "Print how long a list is", 0, 0, nil},
	{"ltrim", "list.trim", "", "FIRST LAST", "Keep only these values of a list", 2, 2, nil},
	{"lindex", "list.get", "", "INDEX", "Print one value of a list", 1, 1, nil},

	{"topadd", "top-k.add", "", "SCORE MEMBER", "Offer a member with a score to a top-k", 2, 2, nil},
	{"top", "top-k.top", "", "N", "Print the best members of a top-k", 1, 1, nil},
	{"topmax", "top-k.max", "", "", "Print the best member of a top-k", 0, 0, nil},

	{"bagadd", "summary.add", "", "NUMBER...", "Add numbers to a summary", 1, -1, nil},
	{"bagstat", "summary.stats", "", "", "Print what is known of a summary's numbers", 0, 0, nil},

	{"bcreate", "bounded-counter.create", "", "FLOOR CEILING [START]", "Make a counter that stays within bounds", 2, 3, nil},
	{"badd", "bounded-counter.try-add", "bounded-counter.add", "N", "Add to a bounded counter if there is room, and print whether there was", 1, 1, nil},
	{"bsub", "bounded-counter.try-subtract", "bounded-counter.subtract", "N", "Take from a bounded counter if there is enough, and print whether there was", 1, 1, nil},
	{"bget", "bounded-counter.get", "", "", "Print a bounded counter", 0, 0, nil},
	{"bbounds", "bounded-counter.bounds", "", "", "Print the floor and the ceiling of a bounded counter", 0, 0, nil},

	{"newid", "ids.next", "", "[N]", "Print ids that nobody else gets", 0, 1, nil},
}

func (x *shortcut) command() *cobra.Command {
	long := x.short + ". This calls " + x.method + "."
	if x.blind != "" {
		long += "\n\nWith --blind nothing is printed, and it calls " + x.blind + ", which has less to wait for."
	}
	most := x.most
	if most >= 0 {
		most++
	}
	return callingCommand(strings.TrimSpace(x.name+" KEY "+x.usage), x.short, long+"\n\n"+callNotes, x.example(), x.least+1, most, x.blind != "",
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

// example is a command line, made of samples for what usage names.
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
	keyOf = map[string]string{"counter": "visits", "set": "team", "map": "cart", "sorted-set": "points", "list": "log", "top-k": "bids",
		"summary": "ratings", "bounded-counter": "seats", "ids": "orders"}
	sampleOf = map[string]string{"N": "5", "MEMBER": "ann", "FIELD": "lamps", "VALUE": "2", "FROM": "a", "LIMIT": "10", "SCORE": "2.5",
		"FIRST": "0", "LAST": "-1", "MIN": "1", "MAX": "10", "INDEX": "-1", "NUMBER": "4.5", "FLOOR": "0", "CEILING": "100"}
)
