// Package servewebtest holds the rules of the whole module: docs/design.md, "Rooms and doors".
package servewebtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "serve-web"

// room is a package, by its directory, and what it may know.
type room struct {
	dir string
	// ours are the packages of this module it may import, third the modules of others.
	ours, third []string
	// never are packages of the standard library, and below, that would make it do another room's
	// work. A name after a colon is one of the package's, the others are allowed.
	never []string
}

const (
	bluemonday = "github.com/microcosm-cc/bluemonday"
	chroma     = "github.com/alecthomas/chroma/v2"
	echo       = "github.com/labstack/echo/v4"
	fsnotify   = "github.com/fsnotify/fsnotify"
	glamour    = "charm.land/glamour/v2"
	goldmark   = "github.com/yuin/goldmark"
	klauspost  = "github.com/klauspost/compress"
	gosdk      = "github.com/modelcontextprotocol/go-sdk"
	jsonv2     = "github.com/go-json-experiment/json"
	pflag      = "github.com/spf13/pflag"
	modernc    = "modernc.org/sqlite"
	playwright = "github.com/playwright-community/playwright-go"
	templ      = "github.com/a-h/templ"
	toml       = "github.com/pelletier/go-toml/v2"
	xnet       = "golang.org/x/net"
	xsys       = "golang.org/x/sys"
	xtext      = "golang.org/x/text"
)

var (
	files     = []string{"os", "io/fs", "io/ioutil", "path/filepath", "embed"}
	processes = []string{"os/exec", "os/signal", "syscall"}
	network   = []string{"net"}
	clock     = []string{"time:Now", "time:Since", "time:Until", "time:After", "time:AfterFunc", "time:Tick", "time:NewTicker", "time:NewTimer", "time:Sleep"}
	html      = []string{"html", "text/template"}
	loggers   = []string{"log"}
)

// rooms is the table of docs/design.md.
var rooms = []room{
	{"conversation", nil, []string{jsonv2}, slices.Concat(files, processes, network, clock, html, loggers)},
	{"userview", []string{"conversation"}, nil, slices.Concat(files, processes, network, clock, html, loggers)},
	{"markdown", nil, []string{goldmark, chroma, bluemonday, xnet}, slices.Concat(files, processes, []string{"net/http"})},
	{"style", []string{"conversation"}, []string{jsonv2, toml}, slices.Concat(files, processes, network, clock, html, loggers)},
	{"print", []string{"conversation", "userview", "style", "markdown"}, []string{glamour, jsonv2}, slices.Concat(files, processes, network, clock, html, loggers)},
	{"static", nil, nil, processes},
	{"sse", nil, nil, slices.Concat(files, processes, html)},
	{"source", []string{"conversation"}, []string{fsnotify}, slices.Concat(html, network)},
	{"source/jp", []string{"conversation", "source"}, []string{jsonv2, fsnotify, xsys}, slices.Concat(html, network)},
	{"source/plugin", []string{"conversation"}, []string{jsonv2}, slices.Concat(files, processes, html, network)},
	{"source/plugin/host", []string{"conversation", "userview"}, []string{jsonv2}, slices.Concat(html, network)},
	{"demo", nil, []string{jsonv2}, slices.Concat(html, network, processes)},
	{"review", []string{"conversation"}, nil, slices.Concat(files, processes, network, html, loggers)},
	{"review/sqlite", []string{"review"}, []string{modernc}, slices.Concat(processes, html, loggers, []string{"net/http"})},
	{"mcp", []string{"conversation", "userview", "review"}, []string{gosdk, jsonv2}, slices.Concat(files, processes, html)},
	{"templates", []string{"markdown", "static"}, []string{templ}, slices.Concat(files, processes, clock, []string{"net/http"})},
	{"web", []string{"conversation", "userview", "markdown", "templates", "static", "sse", "review"}, []string{echo, jsonv2, xtext, klauspost}, slices.Concat(files, processes)},
	{"cmd/serve-web", []string{"conversation", "userview", "source/jp", "source/plugin", "source/plugin/host", "print", "style", "web", "mcp", "review", "review/sqlite", "demo"}, []string{pflag}, slices.Concat(html, []string{"encoding/json"})},
	{"e2e", nil, []string{playwright}, nil},
}

// testModules are what any test may use beside what the rooms do.
var testModules = []string{"github.com/google/go-cmp"}

func findRoom(dir string) (room, bool) {
	i := slices.IndexFunc(rooms, func(r room) bool { return r.dir == dir })
	if i < 0 {
		return room{}, false
	}
	return rooms[i], true
}

// goFile is a file of the module, for whatever system.
type goFile struct {
	path, dir string // relative to the root, with slashes
	test      bool
	generated bool
	syntax    *ast.File
}

// goFiles parses all files of the module. The root has tests alone.
func goFiles(t *testing.T) (out []goFile, fset *token.FileSet) {
	t.Helper()
	fset = token.NewFileSet()
	walk(t, func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		syntax, err := parser.ParseFile(fset, filepath.FromSlash(name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, goFile{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), ast.IsGenerated(syntax), syntax})
	})
	return out, fset
}

// walk calls visit for each file that go build ./... would look at, and those beside them.
func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			visit(filepath.ToSlash(p))
			return nil
		}
		if p == "." {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" || d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func imports(f *ast.File) []string {
	var out []string
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// within reports whether the package is the parent, or below it.
func within(pkg, parent string) bool { return pkg == parent || strings.HasPrefix(pkg, parent+"/") }

func withinAny(pkg string, parents []string) bool {
	return slices.ContainsFunc(parents, func(p string) bool { return within(pkg, p) })
}

func TestImports(t *testing.T) {
	all, _ := goFiles(t)
	var anyThird []string
	for _, r := range rooms {
		anyThird = append(anyThird, r.third...)
	}
	seen := map[string]bool{}
	for _, f := range all {
		r, ok := findRoom(f.dir)
		if f.dir == "." {
			if !f.test {
				t.Errorf("%s: the root holds tests alone", f.path)
			}
		} else if !ok && !seen[f.dir] {
			t.Errorf("%s: the table of rooms does not name this package", f.dir)
		}
		seen[f.dir] = true
		for _, imp := range imports(f.syntax) {
			ours, isOurs := strings.CutPrefix(imp, module+"/")
			switch {
			case f.test && isOurs:
				if r.dir == "e2e" || f.dir == "." {
					t.Errorf("%s imports %s, and may import nothing of ours", f.path, imp)
				}
			case isOurs:
				if !slices.Contains(r.ours, ours) {
					t.Errorf("%s imports %s, which %s may not", f.path, imp, f.dir)
				}
			case strings.Contains(strings.Split(imp, "/")[0], "."):
				allowed := r.third
				if f.test {
					allowed = slices.Concat(anyThird, testModules)
				}
				if !withinAny(imp, allowed) {
					t.Errorf("%s imports %s, which the table of rooms does not name for %s", f.path, imp, f.dir)
				}
			case imp == "unsafe" || imp == "C":
				t.Errorf("%s imports %s", f.path, imp)
			case !f.test && withinAny(imp, r.never):
				t.Errorf("%s imports %s, which is another room's work", f.path, imp)
			}
		}
	}
}

// Only the names after the colon are refused of a package: the clock, mostly.
func TestNeverNames(t *testing.T) {
	all, fset := goFiles(t)
	for _, f := range all {
		r, ok := findRoom(f.dir)
		if !ok || f.test || f.generated {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(r.never, pkg.Name+":"+sel.Sel.Name) {
				t.Errorf("%s: %s.%s is another room's work", fset.Position(n.Pos()), pkg.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// Every package says what it is for, and starts nothing when it is imported.
func TestPackages(t *testing.T) {
	all, fset := goFiles(t)
	doc := map[string]bool{}
	for _, f := range all {
		if f.test {
			continue
		}
		doc[f.dir] = doc[f.dir] || f.syntax.Doc != nil
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: a package has no init", fset.Position(fn.Pos()))
			}
		}
	}
	for dir, ok := range doc {
		if !ok {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
}

// Nobody but markdown can make markdown.HTML that is not empty: its fields are its own, and they
// are filled at one place.
func TestOneMintOfHTML(t *testing.T) {
	all, fset := goFiles(t)
	declared := false
	var minted []string
	for _, f := range all {
		if f.dir != "markdown" || f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if n.Name.Name != "HTML" {
					break
				}
				s, ok := n.Type.(*ast.StructType)
				if declared = ok; !ok {
					t.Errorf("%s: HTML is no struct, so that anybody can convert to it", fset.Position(n.Pos()))
					break
				}
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						if name.IsExported() {
							t.Errorf("%s: HTML's field %s can be set by anybody", fset.Position(name.Pos()), name.Name)
						}
					}
					if len(field.Names) == 0 {
						t.Errorf("%s: HTML embeds a type", fset.Position(field.Pos()))
					}
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "HTML" && len(n.Elts) > 0 {
					minted = append(minted, fset.Position(n.Pos()).String())
				}
			}
			return true
		})
	}
	if !declared {
		t.Error("package markdown declares no struct HTML")
	}
	if len(minted) > 1 {
		t.Errorf("HTML is made at %d places, want one, behind the sanitiser: %s", len(minted), strings.Join(minted, ", "))
	}
}

// templ.Raw stands once, and on markdown.HTML.
func TestOneRaw(t *testing.T) {
	raw := regexp.MustCompile(`templ\s*\.\s*Raw\b.*`)
	var found []string
	walk(t, func(name string) {
		generated := strings.HasSuffix(name, "_templ.go")
		if ext := path.Ext(name); ext != ".templ" && ext != ".go" || generated || name == "rooms_test.go" {
			return
		}
		b, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range raw.FindAllString(string(b), -1) {
			found = append(found, name+": "+m)
		}
	})
	if want := []string{"templates/markup.templ: templ.Raw(html.String())"}; !slices.Equal(found, want) {
		t.Errorf("templ.Raw stands at %q, want %q", found, want)
	}
	b, err := os.ReadFile("templates/markup.templ")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`templ \w+\(html markdown\.HTML\) \{\s*@templ\.Raw\(html\.String\(\)\)\s*\}`).Match(b) {
		t.Error("templates/markup.templ: templ.Raw is not on a markdown.HTML")
	}
}

// docs/design.md says the same.
func TestTableIsDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)`[^|]* \\|[^|]*\\| ([^|]*) \\| ([^|]*) \\|[^|]*\\|$")
	type line struct{ Room, Ours, Third string }
	var documented, held []line
	for _, m := range row.FindAllStringSubmatch(string(b), -1) {
		documented = append(documented, line{m[1], m[2], m[3]})
	}
	cell := func(words []string) string {
		if len(words) == 0 {
			return "–"
		}
		return strings.Join(words, ", ")
	}
	short := map[string]string{bluemonday: "bluemonday", chroma: "chroma", echo: "echo", fsnotify: "fsnotify", glamour: "glamour", goldmark: "goldmark", toml: "go-toml",
		gosdk: "MCP go-sdk", jsonv2: "go-json-experiment", klauspost: "klauspost/compress", modernc: "modernc.org/sqlite", pflag: "pflag", playwright: "playwright-go", templ: "templ", xnet: "x/net", xsys: "x/sys", xtext: "x/text"}
	for _, r := range rooms {
		l := line{Room: r.dir}
		var ours, third []string
		for _, o := range r.ours {
			ours = append(ours, "`"+o+"`")
		}
		for _, m := range r.third {
			third = append(third, short[m])
		}
		l.Ours, l.Third = cell(ours), cell(third)
		held = append(held, l)
	}
	if diff := cmp.Diff(documented, held); diff != "" {
		t.Errorf("docs/design.md and rooms_test.go differ (-document +test)\n%s", diff)
	}
}
