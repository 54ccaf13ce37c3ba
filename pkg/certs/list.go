package certs

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Listed is a certificate in a directory.
type Listed struct {
	File string `json:"file"`
	// Name is whose it is.
	Name    string    `json:"name"`
	CA      bool      `json:"authority,omitempty"`
	Hosts   []string  `json:"hosts,omitempty"`
	Expires time.Time `json:"expires"`
}

// For is what the certificate is for, in a few words.
func (l Listed) For() string {
	if l.CA {
		return "authority"
	}
	return strings.Join(l.Hosts, ", ")
}

// List reads the certificates of a directory, in the order of the files' names.
func List(dir string) ([]Listed, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, invalid("the directory cannot be read: "+err.Error(), "set another one with --certs-dir")
	}
	var out []Listed
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".crt") {
			continue
		}
		all, err := readCertificates(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			l := Listed{File: e.Name(), Name: c.Subject.CommonName, CA: c.IsCA, Hosts: c.DNSNames, Expires: c.NotAfter.UTC()}
			for _, ip := range c.IPAddresses {
				l.Hosts = append(l.Hosts, ip.String())
			}
			out = append(out, l)
		}
	}
	return out, nil
}
