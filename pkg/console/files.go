package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed web
var web embed.FS

// file is one of the page's, with a name for its content by which browsers find out
// whether theirs is the same.
type file struct {
	content  []byte
	etag     string
	mimeType string
}

var mimeTypes = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// files serves the page.
func files() http.Handler {
	all := map[string]file{}
	entries, err := fs.ReadDir(web, "web")
	if err != nil {
		panic(err) // they are in the program
	}
	for _, e := range entries {
		content, err := fs.ReadFile(web, "web/"+e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		all[e.Name()] = file{content, `"` + hex.EncodeToString(sum[:8]) + `"`, mimeTypes[path.Ext(e.Name())]}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, below := strings.CutPrefix(r.URL.Path, "/console/")
		if r.URL.Path == "/console" {
			http.Redirect(w, r, "/console/", http.StatusMovedPermanently)
			return
		}
		if name == "" {
			name = "index.html"
		}
		f, ok := all[name]
		if !below || !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f.mimeType)
		w.Header().Set("Cache-Control", "no-cache") // ask each time whether it has changed
		w.Header().Set("ETag", f.etag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.content))
	})
}
