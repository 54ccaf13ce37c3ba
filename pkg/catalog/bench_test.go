package catalog

import "testing"

func BenchmarkReadPages(b *testing.B) {
	file, _ := largeCatalog(b)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := readPages(file, bucketName); err != nil {
			b.Fatal(err)
		}
	}
}
