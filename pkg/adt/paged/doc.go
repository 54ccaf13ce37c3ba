// Package paged provides ordered maps that need not be in memory as a whole.
//
// A tree.Map shares nodes between its versions, but is stored in one piece: reading one of 100,000
// members would read all of them. So a [Map] can be cut into pages, runs of neighbours of about
// equal size. Each page is an immutable row of its own; a changed page is written as a new page
// with a new number. The directory is read first: for each page its first key, the number of its
// elements and their size. In memory, a Map is a small tree of pages by first key; each page is a
// tree of elements, or a stub that is not loaded. Every page knows its counts, so positions, ranks
// and sizes cost O(log n) and at most one page.
//
//	Map ── page from "a" ── tree of elements
//	    ├─ page from "k" ── stub, with buffered changes
//	    └─ page from "t" ── stub
//
// # Absent pages
//
// This package is pure and cannot wait for a read. An operation that needs an absent page panics
// with *[Absent], which names the pages. The caller recovers, reads the pages, passes them to
// Page.Fill and repeats the operation:
//
//	contains s "m"     panic: Absent{page from "k"}
//	                   the shard reads the page; Fill
//	contains s "m"     true
//
// All versions of a Map share a stub, and Fill loads it for all of them.
//
// # Buffered changes
//
// An element can be changed without its page if its old state is known, for example because it was
// looked up in another index of the same value. Insert, Drop and Change buffer such changes at the
// stub; when the page is loaded, they are applied to it. Therefore making a change visible never
// waits for a read: the elements that a call has looked up stay known, and all others are buffered.
// Patches in the log are applied in the same way ([Change]).
//
// Store cuts pages that have changed and are in memory into new ones. Absent pages stay as they
// are, and their buffered changes are stored in the directory (AppendDirectory, ReadDirectory).
//
// # Hazards
//
//   - A Map in pages is not safe for concurrent use, not even for reading: a read applies the buffered changes
//     of a page that was loaded meanwhile. A Map that is not in pages is a tree.Map, with its costs and
//     guarantees.
//   - Stored forms never change: see TestEncodingIsStable.
//
// Package adt stores sets, maps and sorted sets above a threshold of size with this package.
package paged
