package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/deploy"
	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

// newCluster writes the files of a new cluster.
type newCluster struct {
	dir     string
	members []newMember
}

func (c *newCluster) path(names ...string) string {
	return filepath.Join(append([]string{c.dir}, names...)...)
}

// node is the name of the directory of a member, from 0.
func (c *newCluster) node(i int) string { return fmt.Sprintf("n%d", i+1) }

// write writes all files, into an empty directory only.
func (c *newCluster) write() error {
	switch there, err := os.ReadDir(c.dir); {
	case err == nil && len(there) > 0:
		return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: c.dir + " is not empty", Hint: "name a new directory"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "the directory cannot be used: " + err.Error(),
			Hint: "name another"}
	}
	ca := certs.Maker{Dir: c.path("certs")}
	if _, err := ca.CreateCA(); err != nil {
		return err
	}
	if _, err := ca.CreateClient(users.Root); err != nil {
		return err
	}
	for i := range c.members {
		if err := c.writeNode(i); err != nil {
			return err
		}
	}
	return c.writePrometheus()
}

// writeNode writes the settings and the certificate of a member.
func (c *newCluster) writeNode(i int) error {
	m := &c.members[i]
	dir := c.path(c.node(i), "certs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := c.copyCA(dir); err != nil {
		return err
	}
	hosts := []string{m.host}
	if ip := net.ParseIP(m.host); ip != nil && ip.IsLoopback() {
		hosts = append(hosts, "localhost")
	}
	if _, err := (&certs.Maker{Dir: dir, CAKey: c.path("certs", certs.CAKey)}).CreateNode(hosts...); err != nil {
		return err
	}
	return os.WriteFile(c.path(c.node(i), "linchpin.yaml"), c.settings(i), 0o644)
}

// copyCA copies the authority's certificate, which every node needs.
func (c *newCluster) copyCA(dir string) error {
	raw, err := os.ReadFile(c.path("certs", certs.CAFile))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, certs.CAFile), raw, 0o644)
}

// settings is the file of a member's settings.
func (c *newCluster) settings(i int) []byte {
	var join []string
	for _, m := range c.members {
		join = append(join, m.addr)
	}
	m := &c.members[i]
	return fmt.Appendf(nil, `# Settings of node n%d: flags of "linchpin start", without the dashes. Paths are relative
# to the directory of this file. See "linchpin start --help" and docs/operation.md.

# The addresses for clients and other nodes, and for console and metrics.
listen: %q
http: %q

# All first members, including this one, the same on every node.
join: %q

store: store
certs-dir: certs
`, i+1, m.addr, m.http, strings.Join(join, ","))
}

// sampleTargets are the targets in the embedded configuration.
var sampleTargets = regexp.MustCompile(`(?m)^( +- )127\.0\.0\.1:71\d\d\n`)

// writePrometheus writes the embedded configuration, with the members as targets.
func (c *newCluster) writePrometheus() error {
	if err := os.MkdirAll(c.path("prometheus", "rules"), 0o755); err != nil {
		return err
	}
	if err := c.copyCA(c.path("prometheus")); err != nil {
		return err
	}
	raw, err := deploy.Files.ReadFile(deploy.PrometheusTLS)
	if err != nil {
		return err
	}
	at := sampleTargets.FindSubmatchIndex(raw)
	if at == nil {
		return errors.New("the embedded configuration has no targets")
	}
	var targets []byte
	for _, m := range c.members {
		targets = fmt.Appendf(targets, "%s%q\n", raw[at[2]:at[3]], m.http)
	}
	raw = slices.Concat(raw[:at[0]], targets, sampleTargets.ReplaceAll(raw[at[0]:], nil))
	if err := os.WriteFile(c.path("prometheus", "prometheus.yml"), raw, 0o644); err != nil {
		return err
	}
	rules, err := fs.Glob(deploy.Files, deploy.PrometheusRules)
	if err != nil {
		return err
	}
	for _, r := range rules {
		raw, err := deploy.Files.ReadFile(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.path("prometheus", "rules", path.Base(r)), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// print shows the nodes, and the next commands.
func (c *newCluster) print(p *printer) error {
	t := p.table("NODE", "ADDRESS", "CONSOLE", "START WITH")
	for i, m := range c.members {
		t.row(c.node(i), m.addr, "https://"+m.http+"/console/", "linchpin start --config "+c.path(c.node(i), "linchpin.yaml"))
	}
	if err := t.flush(); err != nil {
		return err
	}
	return p.printf("then:  linchpin status --addr %s --certs-dir %s\n", c.members[0].addr, c.path("certs"))
}
