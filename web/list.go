package web

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/templates"
)

const (
	// sideRows is how many rows the list beside a conversation has at most, pageRows a page of the
	// list's own.
	sideRows = 40
	pageRows = 200
	// queryBytes is the longest filter that is taken.
	queryBytes = 1000
)

// listQuery is what a list is asked to show.
type listQuery struct {
	text     string // the filter as typed
	archived bool
	// page is the number of a page of the list's own, from 1; 0 for the list beside a conversation.
	page int
	// current is the conversation that is open beside the list, "" if none is.
	current string
}

// list answers with the list of conversations.
func (s *Server) list(c echo.Context) error {
	q, err := readListQuery(c.Request().URL.RawQuery)
	if err != nil {
		return err
	}
	sums, err := s.summaries(c.Request().Context())
	if err != nil {
		return fmt.Errorf("listing conversations: %w", err)
	}
	q.page = max(q.page, 1)
	if q.text != "" {
		c.Set(reflects, true)
	}
	f := s.frame("Conversations", sums, q, "")
	f.Desk = s.deskLink(c.Request().Context())
	return s.render(c, http.StatusOK, templates.ListPage{Frame: f})
}

func readListQuery(raw string) (listQuery, error) {
	values, err := parseQuery(raw, "q", "archived", "page", "current", "position")
	if err != nil {
		return listQuery{}, err
	}
	q := listQuery{text: strings.ToValidUTF8(values.Get("q"), "\uFFFD")}
	if number := values.Get("page"); number != "" {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > 1_000_000 || strconv.Itoa(n) != number {
			return q, badRequest("The parameter page is the number of a page, from 1.")
		}
		q.page = n
	}
	if name := values.Get("current"); name != "" {
		id, canonical, ok := parseID(name)
		if !ok || !canonical {
			return q, badRequest("The parameter current is the number of a conversation.")
		}
		q.current = id
	}
	if len(q.text) > queryBytes {
		return q, badRequest(fmt.Sprintf("The filter q is longer than %d bytes.", queryBytes))
	}
	switch values.Get("archived") {
	case "", "0":
	case "1":
		q.archived = true
	default:
		return q, badRequest("The parameter archived is 1 or absent.")
	}
	return q, nil
}

// frame is what stands around every page.
func (s *Server) frame(title string, sums []conversation.Summary, q listQuery, current string) templates.Frame {
	q.current = current
	l := presentList(sums, q, s.now())
	l.Problem, l.Fresh = s.unlisted(), s.dated()
	if l.More == 0 {
		q.current = "" // no row can be cut off: all pages follow one list
	}
	if s.live != nil {
		l.Live = "/conversations/live?" + strings.TrimPrefix(q.topic(), listTopic)
		l.Position = listed(l)
	}
	return templates.Frame{Title: title, Workspace: s.workspace, List: l}
}

// sideFrame is what stands around a page that is not the list's own. Such a page stands without the list,
// too, which then says so.
func (s *Server) sideFrame(c echo.Context, title, current string) templates.Frame {
	sums, err := s.summaries(c.Request().Context())
	f := s.frame(title, sums, listQuery{}, current)
	f.Desk = s.deskLink(c.Request().Context())
	if err != nil {
		s.log.LogAttrs(c.Request().Context(), slog.LevelWarn, "list failed", slog.Any("error", err))
		f.List.Problem = "The conversations cannot be listed now."
		f.List.Position = "" // whatever the list is once it can be had, it is another
	}
	return f
}

// unlisted says what the last list of the library lacks.
func (s *Server) unlisted() string {
	if l, ok := s.library.(Partial); ok {
		return markdown.Visible(strings.Join(l.Problems(), " "))
	}
	return ""
}

// dated says how far the list may be behind; "" if it is not.
func (s *Server) dated() string {
	if l, ok := s.library.(Dated); ok {
		return strings.Join(presentFreshness(l.Freshness(), s.now().Location()), ", ")
	}
	return ""
}

// presentList shows those of sums that q asks for, whose titles have each of its words, the pinned first, then by last activity: a page of
// them, or the first [sideRows], where the current conversation stands last if it would be cut off.
func presentList(sums []conversation.Summary, q listQuery, now time.Time) templates.List {
	l := templates.List{Query: q.text, Archived: q.archived}
	var folded func(string) string
	var words []string
	if q.text != "" {
		folded = folder()
		words = strings.Fields(folded(q.text))
	}
	var shown []*conversation.Summary
	for i := range sums {
		sum := &sums[i]
		if sum.Archived != q.archived {
			continue
		}
		l.Total++
		if len(words) > 0 {
			title, _ := titleOf(sum)
			title = folded(title)
			if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(title, word) }) {
				continue
			}
		}
		shown = append(shown, sum)
	}
	slices.SortFunc(shown, func(a, b *conversation.Summary) int {
		if pinned := !a.PinnedAt.IsZero(); pinned == b.PinnedAt.IsZero() {
			if pinned {
				return -1
			}
			return 1
		}
		// The id decides between equal times, so that a list never changes by itself.
		return cmp.Or(activity(b).Compare(activity(a)), cmp.Compare(b.ID, a.ID))
	})
	switch n := len(shown); {
	case q.page == 0 && n > sideRows:
		l.More = n - sideRows
		i := slices.IndexFunc(shown, func(sum *conversation.Summary) bool { return sum.ID == q.current })
		if i >= sideRows {
			shown[sideRows-1] = shown[i]
		}
		shown = shown[:sideRows]
	case q.page > 0 && n > pageRows:
		page := min(q.page, (n-1)/pageRows+1)
		from, to := (page-1)*pageRows, min(page*pageRows, n)
		l.Range = fmt.Sprintf("%d to %d of %d", from+1, to, n)
		if page > 1 {
			l.Before = page - 1
		}
		if to < n {
			l.After = page + 1
		}
		shown = shown[from:to]
	}
	for _, sum := range shown {
		row := presentRow(sum, now)
		row.Current = sum.ID == q.current
		l.Rows = append(l.Rows, row)
	}
	return l
}

func presentRow(sum *conversation.Summary, now time.Time) templates.Row {
	title, untitled := titleOf(sum)
	return templates.Row{
		ID:       sum.ID,
		Title:    title,
		Untitled: untitled,
		When:     presentTime(activity(sum), now),
		Events:   count(sum.Events, "event", "events"),
		Labels:   presentLabels(sum.Labels),
		Pinned:   !sum.PinnedAt.IsZero(),
		Writing:  sum.Writing,
		Archived: sum.Archived,
		Expired:  expired(sum, now),
		Problem:  markdown.Visible(sum.Problem),
	}
}

// activity is when something last happened: a conversation can be read on without a new event, and
// written to without being opened.
func activity(sum *conversation.Summary) time.Time {
	last := sum.LastActivated
	if sum.LastEvent.After(last) {
		last = sum.LastEvent
	}
	if last.IsZero() {
		return sum.Created
	}
	return last
}

func expired(sum *conversation.Summary, now time.Time) bool {
	return !sum.ExpiresAt.IsZero() && !sum.ExpiresAt.After(now)
}

// The longest names that pages show, in characters. They are for reading, not for data.
const (
	titleLength   = 300
	requestLength = 60
	nameLength    = 80
)

// titleOf returns what a conversation is called: its title, or the beginning of its first request,
// or a word for neither; untitled says which.
func titleOf(sum *conversation.Summary) (title string, untitled bool) {
	if t := named(sum.Title, titleLength); t != "" {
		return t, false
	}
	if t := named(sum.FirstRequest, requestLength); t != "" {
		return t, true
	}
	return "Untitled", true
}

func presentLabels(labels []conversation.Label) []string {
	var out []string
	for _, l := range labels {
		word := named(l.Key, nameLength)
		if v := named(l.Value, nameLength); v != "" {
			word += "=" + v
		}
		out = append(out, word)
	}
	return out
}

// named makes an untrusted name fit to stand in a line of a page: one line, at most n characters,
// nothing invisible.
func named(s string, n int) string {
	// Cut before the words are split: a name can be as long as a file.
	s, cut := cutText(s, 4*n)
	s, shorter := cutText(strings.Join(strings.Fields(s), " "), n)
	s = markdown.Visible(strings.TrimRight(s, " "))
	if cut || shorter {
		s += "…"
	}
	return s
}

// cutText returns the first n characters of s, less those that would lose a mark on them, and
// whether there are more.
func cutText(s string, n int) (string, bool) {
	last := 0 // where the last whole character began
	for i, r := range s {
		if n == 0 {
			if joins(r) && last > 0 {
				i = last
			}
			return s[:i], true
		}
		if !joins(r) {
			last = i
		}
		n--
	}
	return s, false
}

// joins reports whether r belongs to the character before it.
func joins(r rune) bool {
	return unicode.In(r, unicode.M) || r == '\u200d' || r >= '\U0001f3fb' && r <= '\U0001f3ff'
}

// folder returns what makes of a text the form that the filter compares: without case and accents.
// It is for one goroutine.
func folder() func(string) string {
	t := transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), cases.Fold())
	return func(s string) string {
		for i := range len(s) {
			if s[i] >= utf8.RuneSelf {
				if out, _, err := transform.String(t, s); err == nil {
					return out
				}
				break
			}
		}
		return strings.ToLower(s)
	}
}
