package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"serve-web/source/jp"
	"serve-web/web"
)

// BenchmarkListPage answers with the list of a workspace of 5,000 conversations on disk, none of which
// changed. over-stat compares with asking the system for the times of all their files.
func BenchmarkListPage(b *testing.B) {
	dir := b.TempDir()
	root := filepath.Join(dir, ".jp", "conversations")
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	write(filepath.Join(dir, ".jp", ".id"), "abc12")
	for i := range 5000 {
		d := filepath.Join(root, fmt.Sprintf("%d-about-it", 17_000_000_000+i))
		write(filepath.Join(d, "metadata.json"), fmt.Sprintf(`{"title":"About the Café %d","last_activated_at":"2026-05-13 10:00:00"}`, i))
		write(filepath.Join(d, "base_config.json"), "{}")
		write(filepath.Join(d, "events.json"), `[{"type":"turn_start","timestamp":"2026-05-13 10:00:00"},{"type":"chat_request","timestamp":"2026-05-13 10:00:00","content":"Hello"}]`)
	}
	library, err := jp.Open(jp.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer library.Close()
	pages := web.New(web.Config{Library: library})
	page := func() {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/conversations", nil)
		r.Host = "localhost"
		if pages.ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
	walk := func() {
		_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			if err == nil {
				_, err = d.Info()
			}
			return err
		})
	}
	page() // reads what there is
	var pageTime, walkTime time.Duration
	for b.Loop() {
		began := time.Now()
		page()
		between := time.Now()
		walk()
		pageTime += between.Sub(began)
		walkTime += time.Since(between)
	}
	b.ReportMetric(pageTime.Seconds()/walkTime.Seconds(), "over-stat")
	b.ReportMetric(float64(pageTime.Milliseconds())/float64(b.N), "ms/page")
}
