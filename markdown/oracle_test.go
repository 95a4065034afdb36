package markdown_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The judge of rendered markup. It knows nothing of the renderer: it parses as a browser would, and
// looks at what came out. A second judge, on another parser, is run where it can be.

var (
	controls  = regexp.MustCompile(`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}]`)
	bidi      = regexp.MustCompile(`[\x{202a}-\x{202e}\x{2066}-\x{2069}\x{200e}\x{200f}\x{61c}]`)
	invisible = regexp.MustCompile(`[\x{200b}\x{2060}-\x{2064}\x{feff}\x{ad}\x{115f}\x{1160}\x{3164}\x{ffa0}\x{180e}\x{2028}\x{2029}\x{e0000}-\x{e0fff}]`)
	class     = regexp.MustCompile(`^(chroma|language-[\w+#.-]+|[a-z][a-z0-9]{0,3}|task-list(-item)?|footnote-(ref|backref|item)|footnotes|table-wrap|md-(mark|host|image|html|info|plain|limited|bold|dim|italic|underline|strike|inverse|[fg]\d\d?))$`)
	elements  = strings.Fields("a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr input li ol p pre section span strong sup table tbody td th thead tr ul")
	attrs     = strings.Fields("href rel title id dir tabindex role aria-label align start type checked disabled class")
)

const prefix = "user-content-e1-"

// judge returns what is wrong with markup.
func judge(t testing.TB, s string) (violations []string) {
	t.Helper()
	bad := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	var walk func(*html.Node, int)
	walk = func(n *html.Node, depth int) {
		if depth > 450 {
			bad("too deep")
			return
		}
		switch n.Type {
		case html.TextNode:
			for _, re := range []*regexp.Regexp{controls, bidi, invisible} {
				if m := re.FindString(n.Data); m != "" && !strings.HasPrefix(n.Data[strings.Index(n.Data, m):], "\U000e0067") {
					bad("%+q in text", m)
				}
			}
		case html.ElementNode:
			if n.Namespace != "" || !slices.Contains(elements, n.Data) {
				bad("element %s", n.Data)
			}
			if n.Data == "input" && (has(n, "type") != "checkbox" || !hasKey(n, "disabled")) {
				bad("input is no dead check box")
			}
			for _, a := range n.Attr {
				if !slices.Contains(attrs, a.Key) {
					bad("attribute %s=%q", a.Key, a.Val)
				}
				if controls.MatchString(a.Val) || bidi.MatchString(a.Val) || invisible.MatchString(a.Val) {
					bad("unseen character in %s=%+q", a.Key, a.Val)
				}
				switch a.Key {
				case "id":
					if !strings.HasPrefix(a.Val, prefix) || strings.ContainsAny(a.Val, " \t\n") {
						bad("id %q", a.Val)
					}
				case "class":
					for _, c := range strings.Fields(a.Val) {
						if !class.MatchString(c) {
							bad("class %q", c)
						}
					}
				case "href":
					if strings.HasPrefix(a.Val, "#"+prefix) {
						break
					}
					u, err := url.Parse(a.Val)
					switch {
					case err != nil:
						bad("address %q", a.Val)
					case u.Scheme == "mailto":
					case u.Scheme != "http" && u.Scheme != "https":
						bad("scheme of %q", a.Val)
					case u.Host == "" || u.User != nil:
						bad("host of %q", a.Val)
					}
					if has(n, "rel") != "noopener noreferrer nofollow" {
						bad("rel %q", has(n, "rel"))
					}
				}
			}
		default:
			bad("node of type %d", n.Type)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, depth+1)
		}
	}
	for _, n := range parse(t, s) {
		walk(n, 1)
	}
	// The entries before and after are untouched.
	page := parse(t, `<div id="page"><article id="m1"><div>`+s+`</div></article><article id="m2">after</article></div>`)
	if len(page) != 1 || page[0].FirstChild == nil || page[0].FirstChild.NextSibling == nil ||
		page[0].LastChild != page[0].FirstChild.NextSibling || has(page[0].LastChild, "id") != "m2" || render(page[0].LastChild.FirstChild) != "after" {
		bad("it breaks out of its container")
	}
	// It parses to what is written, and again to the same.
	var once strings.Builder
	for _, n := range parse(t, s) {
		once.WriteString(render(n))
	}
	if got := once.String(); strings.ReplaceAll(got, "/>", ">") != s {
		bad("it parses to %.300q", got)
	}
	return violations
}

func hasKey(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func render(n *html.Node) string {
	var b bytes.Buffer
	if n != nil {
		_ = html.Render(&b, n)
	}
	return b.String()
}

// rendered is one text through one path.
type rendered struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// secondJudge runs the corpus's own judge, in another language and on another parser, where both it
// and Node are there.
func secondJudge(t *testing.T, all []rendered) {
	t.Helper()
	oracle, err := os.ReadFile("../../shared/corpus/hostile/oracle.mjs")
	if err != nil {
		t.Run("second judge", func(t *testing.T) { t.Skip("not here") })
		return
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Run("second judge", func(t *testing.T) { t.Skip("no node") })
		return
	}
	if _, err := os.Stat("../node_modules/parse5"); err != nil {
		t.Run("second judge", func(t *testing.T) { t.Skip("no parse5") })
		return
	}
	modules, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, content := range map[string][]byte{dir + "/oracle.mjs": oracle} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(modules+"/../node_modules", dir+"/node_modules"); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, dir+"/oracle.mjs")
	cmd.Env = append(os.Environ(), "ID_PREFIX="+prefix)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("second judge: %v\n%s", err, stderr.String())
	}
	var verdicts []struct {
		ID         string
		Violations []struct{ Rule, Detail string }
	}
	if err := json.Unmarshal(out, &verdicts); err != nil {
		t.Fatal(err)
	}
	if len(verdicts) != len(all) {
		t.Fatalf("second judge: %d verdicts, want %d", len(verdicts), len(all))
	}
	for _, v := range verdicts {
		if len(v.Violations) > 0 {
			t.Errorf("second judge of %s = %v, want nothing", v.ID, v.Violations)
		}
	}
	t.Logf("second judge: %d outputs", len(all))
}
