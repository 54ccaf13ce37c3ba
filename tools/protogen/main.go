// Command protogen makes the Go code of the module's .proto files, without an
// installed protoc: protocompile parses them, and the plugins that go.mod pins
// (go tool protoc-gen-gogofaster, protoc-gen-go-grpc) write the code beside
// them.
//
//	go run ./tools/protogen                     all files below pkg
//	go run ./tools/protogen pkg/msg/msg.proto   these
//	go run ./tools/protogen -check              write nothing, and fail if a file is stale
//
// A file that declares a service gets stubs for it too, and the interface to clients a
// public form below proto, from which other languages' clients are generated. Paths are relative to
// the module's root, where it must be run.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if a generated file is not what would be written")
	flag.Parse()
	if err := run(flag.Args(), *check); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(protos []string, check bool) error {
	if len(protos) == 0 {
		var err error
		protos, err = find("pkg")
		if err != nil {
			return err
		}
	}
	done := writeOut
	if check {
		done = compare
	}
	for _, path := range protos {
		// The prefix says what the file itself says by now.
		path = strings.TrimPrefix(path, "grpc:")
		out, err := generate(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := done(out); err != nil {
			return err
		}
	}
	return nil
}

// find lists the .proto files below a directory.
func find(dir string) (protos []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(p) == ".proto" {
			protos = append(protos, filepath.ToSlash(p))
		}
		return err
	})
	return protos, err
}

// output is generated files, by name.
type output map[string]string

func writeOut(out output) error {
	for name, content := range out {
		if err := os.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.FromSlash(name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compare(out output) error {
	for _, name := range slices.Sorted(maps.Keys(out)) {
		have, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		if string(have) != out[name] {
			return fmt.Errorf("%s is stale: run make proto, and commit what it writes", name)
		}
	}
	return nil
}

// generate gives the files that belong to one .proto file.
func generate(path string) (output, error) {
	req, err := compile(path)
	if err != nil {
		return nil, err
	}
	out := output{}
	if err := runPlugin("protoc-gen-gogofaster", req, out); err != nil {
		return nil, err
	}
	for name, code := range out {
		out[name] = encodePresent(code)
	}
	// The file itself comes after all that it imports.
	self := req.ProtoFile[len(req.ProtoFile)-1]
	if len(self.Service) > 0 {
		if err := runPlugin("protoc-gen-go-grpc", req, out); err != nil {
			return nil, err
		}
	}
	if at := public[path]; at != "" {
		out[publicRoot+"/"+at], err = publish(path, self)
	}
	return out, err
}

// compile parses path and everything that it imports.
func compile(path string) (*pluginpb.CodeGeneratorRequest, error) {
	gogo, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/gogo/protobuf").Output()
	if err != nil {
		return nil, fmt.Errorf("where is gogo/protobuf: %w", err)
	}
	c := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: []string{".", strings.TrimSpace(string(gogo))},
		}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := c.Compile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{path}}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		req.ProtoFile = append(req.ProtoFile, protoutil.ProtoFromFileDescriptor(f))
	}
	for _, f := range files {
		add(f)
	}
	return req, nil
}

// runPlugin adds what a plugin generates to out.
func runPlugin(name string, req *pluginpb.CodeGeneratorRequest, out output) error {
	in := proto.Clone(req).(*pluginpb.CodeGeneratorRequest)
	in.Parameter = proto.String("paths=source_relative" + mapWellKnown(req.ProtoFile))
	raw, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", name)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(raw), os.Stderr
	raw, err = cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(raw, &resp); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if resp.GetError() != "" {
		return fmt.Errorf("%s: %s", name, resp.GetError())
	}
	for _, f := range resp.File {
		out[f.GetName()] = f.GetContent()
	}
	return nil
}

// mapWellKnown sends google's own imports to their gogo twins.
func mapWellKnown(files []*descriptorpb.FileDescriptorProto) string {
	var b strings.Builder
	for _, f := range files {
		if name, ok := strings.CutPrefix(f.GetName(), "google/protobuf/"); ok && name != "descriptor.proto" {
			fmt.Fprintf(&b, ",M%s=github.com/gogo/protobuf/types", f.GetName())
		}
	}
	return b.String()
}
