// Package tree provides persistent ordered collections: a [Map] of keys and values in the order of
// the keys, and a [List] of values by position. Versions share their common nodes.
//
// Values of both types are immutable. Put, Delete, Append and the others return a new version,
// which shares all nodes with the old one except those on the path to the change:
//
//	v1 = {a b c}       v2 = v1.Put(d)          shared: b's left subtree
//	     b                  b'
//	    / \                / \
//	   a   c              a   c'
//	                           \
//	                            d
//
// So a version costs O(log n) nodes, and stays valid as long as it is referenced. Each node knows
// the number and the size of the elements below it, so positions, ranks and sizes cost O(log n).
//
// The trees are weight-balanced (Nievergelt and Reingold 1972): the weight of a tree is the number
// of its elements plus one, and no tree is heavier than three times its sibling. All changes are
// built from one operation, link, which joins two trees of any sizes with an element between them,
// in time proportional to the difference of their heights (Blelloch, Ferizovic and Sun 2016, "Just
// Join for Parallel Ordered Sets", section 4).
//
// Hazard: a version keeps all nodes in memory that it shares. A slice of one element may keep a page of others, but
// not the whole tree.
//
// Persistent B-trees of libraries copy on write, which changes the original: a copy and its original must not be used
// by two goroutines. Values of this package are read by any number of them (decision 0017). Package adt uses it for
// the values of collections, and package paged for pages and their elements.
package tree
