// Package tree is ordered collections whose versions share what they have in
// common: a Map of keys and values, in the order of the keys, and a List of
// values, by position.
//
// A value of either type never changes. Put, Delete, Append and the others
// return a new one, which shares all with the old one but the nodes on the path
// to the change. A version therefore costs O(log n) nodes, and stays what it was
// for as long as somebody has it. Every node knows how many elements there are
// below it, and how many bytes they take, so that positions, ranks and sizes cost
// O(log n) as well.
//
// The trees are balanced by weight (Nievergelt and Reingold 1972): the weight of
// a tree is the number of its elements and one, and no tree is heavier than three
// times its sibling. All changes are made of one operation, which links two trees
// of any sizes with an element between them, in time that goes by the difference
// of their heights (Blelloch, Ferizovic and Sun 2016, "Just Join for Parallel
// Ordered Sets", section 4).
package tree
