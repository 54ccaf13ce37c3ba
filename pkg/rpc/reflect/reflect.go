// Package reflect serves gRPC reflection for services whose code gogo/protobuf
// generated, so that tools such as grpcurl can describe and call them.
//
// gogo keeps a registry of its own, which the stock reflection service does
// not look into: it would list the services and then fail to describe them.
// Here their descriptors are taken from gogo's registry, freed of the import
// of gogo's options (tools have no use for them, and they are registered under
// another name than they are imported by), and put into a registry that falls
// back to the process-wide one for all else.
package reflect

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"

	gogoproto "github.com/gogo/protobuf/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// gogoOptions is the import that is left out.
const gogoOptions = "gogoproto/gogo.proto"

// Register adds the reflection service, in both of its versions, to s. The
// services that are described are those registered on s when a client asks;
// files names the .proto files whose code gogo generated, in an order in
// which each comes after those it imports.
func Register(s *grpc.Server, files ...string) error {
	r, err := Resolver(files...)
	if err != nil {
		return err
	}
	opts := reflection.ServerOptions{Services: s, DescriptorResolver: r}
	reflectv1.RegisterServerReflectionServer(s, reflection.NewServerV1(opts))
	reflectv1alpha.RegisterServerReflectionServer(s, reflection.NewServer(opts))
	return nil
}

// Resolver finds descriptors in the named files and, failing that, in the
// process-wide registry.
func Resolver(files ...string) (protodesc.Resolver, error) {
	r := resolver{own: new(protoregistry.Files)}
	for _, name := range files {
		fd, err := fileDescriptor(name, r)
		if err != nil {
			return nil, fmt.Errorf("reflect: %s: %w", name, err)
		}
		if err := r.own.RegisterFile(fd); err != nil {
			return nil, fmt.Errorf("reflect: %s: %w", name, err)
		}
	}
	return r, nil
}

func fileDescriptor(name string, r protodesc.Resolver) (protoreflect.FileDescriptor, error) {
	packed := gogoproto.FileDescriptor(name)
	if packed == nil {
		return nil, errors.New("gogo's registry has no such file; is its package imported?")
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(zr)
	if err != nil {
		return nil, err
	}
	var fdp descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(raw, &fdp); err != nil {
		return nil, err
	}
	if len(fdp.PublicDependency) == 0 && len(fdp.WeakDependency) == 0 { // they count in Dependency
		fdp.Dependency = slices.DeleteFunc(fdp.Dependency, func(d string) bool { return d == gogoOptions })
	}
	return protodesc.NewFile(&fdp, r)
}

// resolver looks into own first.
type resolver struct{ own *protoregistry.Files }

func (r resolver) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if fd, err := r.own.FindFileByPath(path); err == nil {
		return fd, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (r resolver) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d, err := r.own.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}
