package kv

import (
	"fmt"
	"strconv"
	"strings"
)

// A place names a disk of a node for the replicas on it, so that no message for a replica on a lost disk reaches a
// replica on a later one (R7.17):
//
//	"n2/0"     the disk that node 2 has since the cluster was formed
//	"n2/9f3a"  a later disk of node 2, with its number in hexadecimal
//	""         where a replica of the first formation is: on a founding disk, of the node in the placement
//
// Equal places are equal texts. Each disk of a node has a greater number than those before it.

// PlaceOf returns the place of a node's disk. Number 0 is that of the founding disk.
func PlaceOf(n NodeID, disk uint64) string {
	return fmt.Sprintf("%v/%x", n, disk)
}

// IsLaterPlace reports whether a place is of a later disk than another place of the same node. A node that has not
// received anything for long knows earlier ones.
func IsLaterPlace(place, than string) bool {
	_, disk, err := ParsePlace(place)
	_, before, errBefore := ParsePlace(than)
	return err == nil && errBefore == nil && disk > before
}

// ParsePlace returns the node and the number of the disk of a place; both are 0 for "". Another text than PlaceOf
// returns is KindInvalid.
func ParsePlace(place string) (n NodeID, disk uint64, err error) {
	if place == "" {
		return 0, 0, nil
	}
	node, hex, _ := strings.Cut(place, "/")
	number, err := strconv.ParseUint(strings.TrimPrefix(node, "n"), 10, 16)
	if err == nil {
		disk, err = strconv.ParseUint(hex, 16, 64)
	}
	n = NodeID(number)
	if err != nil || n == 0 || PlaceOf(n, disk) != place {
		return 0, 0, Errorf(KindInvalid, "%q is not the place of a replica", place)
	}
	return n, disk, nil
}
