package mcp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	agents "serve-web/mcp"
)

// TestConformance runs the protocol's own suite for servers, where make says with what: against the
// handler as it is, and against one that has what the suite's scenarios call. A bundle waits all the
// time, so that what the suite looks at has a notice wherever one may stand. What is expected to fail
// is listed in testdata/conformance, with the reasons; the suite fails, too, if something of it passes.
func TestConformance(t *testing.T) {
	node, suite := os.Getenv("SERVE_WEB_NODE"), os.Getenv("SERVE_WEB_CONFORMANCE")
	if node == "" || suite == "" {
		t.Skip("make conformance runs it")
	}
	for _, version := range versions {
		for name, more := range map[string]func(*mcp.Server){"plain": func(*mcp.Server) {}, "fixtures": addFixtures} {
			t.Run(name+" "+version, func(t *testing.T) {
				w := newWorld(t)
				token := w.agent("a")
				w.send("a", "one", 1)
				h := agents.NewWith(agents.Config{Desk: w.Desk, Library: w.library, Project: one, Version: "test", Logger: slog.New(slog.DiscardHandler)}, more)
				// The suite has no token to show.
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.Header.Set("Authorization", "Bearer "+token)
					h.ServeHTTP(w, r)
				}))
				defer server.Close()
				expected, err := filepath.Abs("testdata/conformance/" + name + "-" + version + ".yml")
				if err != nil {
					t.Fatal(err)
				}
				run := exec.CommandContext(t.Context(), node, suite, "server", "--url", server.URL+agents.Path,
					"--requirements", version, "--expected-failures", expected)
				run.Dir = t.TempDir()
				if out, err := run.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				} else if testing.Verbose() {
					t.Logf("%s", out)
				}
			})
		}
	}
}
