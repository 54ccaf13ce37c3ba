// Package paged is ordered collections of which not all need be in memory.
//
// Begin with a tree.Map, whose versions share what they have in common. It is
// stored as one piece, and who wants one member of a hundred thousand reads them
// all. So cut it into pages, runs of neighbours of some size, each a row of its
// own that is never changed; what is written again is a new page with a new
// number. What is left to be read first is the directory: from which key on each
// page goes, how many elements it has, and how many bytes. A Map is then a small
// tree of pages, by their first keys, each of which is a tree of elements, or a
// stub. Since every page knows its count, positions, ranks and sizes still cost
// O(log n), and one page at most.
//
//	Map ── page from "a" ── tree of elements
//	    ├─ page from "k" ── stub, with changes on top of it
//	    └─ page from "t" ── stub
//
// Who steps on a stub cannot wait here, since all this is pure. So the call ends
// by a panic with *Absent, which names the pages that it lacks; who catches it has
// them read, fills them (Page.Fill), and makes the call again. A stub is shared by
// all versions of a Map and filled for all of them.
//
// A change of an element need not have its page if it is known what was there:
// whoever has looked the element up in one index of a value knows it of the other.
// Insert, Drop and Change leave such changes on top of the stub, and the page is
// made of both when it comes. This is why what becomes visible never has to wait:
// what a call has looked up stays known, and the rest is left on top. It is also
// how the log reads changes back: it says of each what was there (Change).
//
// Store cuts what has changed, and is in memory, into pages anew. Pages that are
// not in memory stay as they are, and what is on top of them goes into the
// directory (AppendDirectory, ReadDirectory).
//
// A Map that is not in pages is a tree.Map and nothing else, and costs as much.
// Maps that are in pages are not for concurrent use, not even to be read: what is
// on top of a page is worked into it when the page has come.
package paged
