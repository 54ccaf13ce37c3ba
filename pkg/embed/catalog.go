package embed

import (
	"github.com/linchpindb/linchpin/pkg/catalog"
	"github.com/linchpindb/linchpin/pkg/membership"
)

// catalogStore makes the catalog the memory of membership and of the shards'
// incarnations.
type catalogStore struct{ *catalog.Catalog }

func openCatalog(dir string) (*catalogStore, error) {
	c, err := catalog.Open(dir)
	if err != nil {
		return nil, err
	}
	return &catalogStore{c}, nil
}

// LoadMembership implements membership.Store.
func (c *catalogStore) LoadMembership() (*membership.Saved, error) {
	id, ok := c.Get()
	if !ok {
		return nil, nil
	}
	s := &membership.Saved{Cluster: id.Cluster, Node: id.Node, List: id.List, Shards: id.Shards, HotKeys: id.HotKeys,
		Past: membership.StampHistory(id.Past)}
	for _, m := range id.Members {
		s.Members = append(s.Members, membership.Member(m))
	}
	return s, nil
}

// SaveMembership implements membership.Store. Only members and the past change after
// the first time.
func (c *catalogStore) SaveMembership(s *membership.Saved) error {
	members := make([]catalog.Member, len(s.Members))
	for i, m := range s.Members {
		members[i] = catalog.Member(m)
	}
	if _, ok := c.Get(); ok {
		return c.SetMembers(members, catalog.StampHistory(s.Past))
	}
	return c.Init(catalog.Identity{Node: s.Node, Cluster: s.Cluster, List: s.List, Shards: s.Shards, HotKeys: s.HotKeys,
		Members: members, Past: catalog.StampHistory(s.Past)})
}
