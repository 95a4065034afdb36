package conversation

import (
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Sketch is what a [Survey] takes in of an event.
type Sketch struct {
	Kind Kind
	// ID is that of a call or a response; Name is the tool of a call.
	ID, Name string
	// Failed says that a response is an error, Shown that some of it is for the user, and Annotated
	// that a block of it says whom it is for.
	Failed, Shown, Annotated bool
	// Delta is the change of a configuration.
	Delta jsontext.Value
	// Time is the event's, zero if it has none. Stamp stands in for it: the text as [ParseTime] reads
	// it, which is read only if somebody asks, and may be overwritten once it was taken in.
	Time  time.Time
	Stamp []byte
}

// SketchOf returns the sketch of an event.
func SketchOf(e Event) Sketch {
	s := Sketch{Kind: KindOf(e.Body), Time: e.Time}
	switch b := e.Body.(type) {
	case ToolCall:
		s.ID, s.Name = b.ID, b.Name
	case ToolResponse:
		s.ID, s.Failed = b.ID, b.IsError
		for _, block := range b.Content {
			a := AudienceOf(block)
			s.Shown = s.Shown || a.Admits(RoleUser)
			s.Annotated = s.Annotated || a.Annotated()
		}
	case ConfigDelta:
		s.Delta = b.Delta
	}
	return s
}

// Survey is what is known of a log without its events at hand: where its parts and turns begin, who
// answers where, and what the tools did. It is made in one pass, and takes some bytes for each part
// and turn, not for each event.
type Survey struct {
	// n is the number of events.
	n       int
	parts   []Part
	turns   []TurnFacts
	last    TurnFacts // the turn that is open
	configs []namesFrom
	// compactions and annotated are the indexes of compactions, and of responses with an annotated
	// block.
	compactions, annotated []uint32
	// far are the responses whose call stands in an earlier part.
	far     []farPair
	tools   []Tool
	models  []string
	strange int

	// What the events to come are counted by.
	names    Names
	turn     Turns
	passages Passages
	calls    Calls
	// calling are the tools of the calls that wait, by the index of the call's event.
	calling map[int]int
	part    Part
	// first is the first turn_start, second the first event of a second turn as long as each request
	// opens one; -1 where there is none.
	first, second int
	perRequest    Turns

	all          Tool // of all tools, and responses without a call
	shown        Tool // responses that the user sees
	began, ended time.Time
	stamp        [40]byte
	stamped      int
}

// Part is a place where a log can be read from without what stands before: a passage ends there at the
// latest, and a response hardly ever answers a call before it. Where parts begin depends on what stands
// before only, so that a log that grows keeps those it has.
type Part struct {
	// First is the index of its first event.
	First int
	// Turns counts on from there.
	Turns Turns
}

// TurnFacts is what is known of a turn.
type TurnFacts struct {
	// First is the index of its first event.
	First uint32
	// Calls counts the calls of tools, Errors the responses that are errors.
	Calls, Errors uint32
	// Shown counts the responses that the user sees, Failed those of them that are errors.
	Shown, Failed uint32
}

// Tool is what is known of a tool.
type Tool struct {
	Name          string
	Calls, Errors int
}

type namesFrom struct {
	index int // of the first event that they hold for
	names Names
}

type farPair struct{ response, call uint32 }

// partEvents is how many events make a part: it ends before the next turn, or, in a turn that is twice
// as long, where nothing is going on. It must not depend on how an event is written down: who reads the
// same log from elsewhere is to get the same parts.
const partEvents = 24

// mostTools is how many tools are told apart.
const mostTools = 200

// NewSurvey returns the survey of a log of no events. names are those before the first; turnStarts
// says whether the log has any [TurnStart]: see [Survey.Holds].
func NewSurvey(names Names, turnStarts bool) *Survey {
	s := &Survey{names: names, first: -1, second: -1, calling: map[int]int{}, perRequest: Turns{PerRequest: true}}
	s.turn.PerRequest = !turnStarts
	s.configs = []namesFrom{{0, names}}
	return s
}

// SurveyOf returns the survey of a log that is at hand.
func SurveyOf(names Names, events []Event) *Survey {
	s := NewSurvey(names, HasTurnStart(events))
	for _, e := range events {
		s.Add(SketchOf(e))
	}
	return s
}

// Holds reports whether the guess of whether the log has any [TurnStart] may still be right. If not,
// the survey has to be made anew.
func (s *Survey) Holds() bool { return !s.turn.PerRequest || s.first < 0 }

// Done reports whether [Survey.Holds] is so of a log that ends here.
func (s *Survey) Done() bool { return s.turn.PerRequest == (s.first < 0) || s.n == 0 }

// Bytes is the memory that it takes, in bytes, near enough.
func (s *Survey) Bytes() int64 {
	n := 48*cap(s.parts) + 20*cap(s.turns) + 48*cap(s.configs) + 4*(cap(s.compactions)+cap(s.annotated)) + 8*cap(s.far) + 32*cap(s.tools) + 16*cap(s.models)
	return int64(n + 100*len(s.calling) + 1000)
}

// Clone returns a survey that goes on where s stands. Only one of all that go on from s may be added
// to.
func (s *Survey) Clone() *Survey {
	next := *s
	next.calls = s.calls.Clone()
	next.calling = make(map[int]int, len(s.calling))
	for i, t := range s.calling {
		next.calling[i] = t
	}
	next.tools = slices.Clone(s.tools)
	return &next
}

// Add takes in the next event.
func (s *Survey) Add(e Sketch) {
	i := s.n
	s.n++
	opens := s.turn.Opens(e.Kind)
	before := s.turn
	after := s.passages
	begins := after.Next(e.Kind, i) == i
	if i == 0 || s.ends(e.Kind, opens, begins) {
		s.part = Part{First: i, Turns: before}
		s.parts = append(s.parts, s.part)
		s.passages = Passages{}
	}
	s.passages.Next(e.Kind, i)
	if !s.turn.Begun() {
		s.last.First = uint32(i)
	}
	turn := s.turn.Pass(e.Kind)
	if opens {
		s.turns = append(s.turns, s.last)
		s.last = TurnFacts{First: uint32(i)}
		clear(s.calling)
	}
	s.count(e, i, turn)
	switch {
	case e.Stamp != nil && plausible(e.Stamp):
		s.stamped = copy(s.stamp[:], e.Stamp)
		if s.began.IsZero() {
			s.began, _ = ParseTime(string(e.Stamp))
		}
	case !e.Time.IsZero():
		s.ended, s.stamped = e.Time, 0
		if s.began.IsZero() {
			s.began = e.Time
		}
	}
	if s.first < 0 {
		if e.Kind == KindTurnStart {
			s.first = i
		} else if s.perRequest.Pass(e.Kind) > 0 && s.second < 0 {
			s.second = i
		}
	}
}

func plausible(stamp []byte) bool {
	return len(stamp) >= len("2006-01-02") && len(stamp) <= 40 && stamp[0] >= '0' && stamp[0] <= '9'
}

// ends reports whether the open part ends before an event of a kind.
func (s *Survey) ends(kind Kind, opens, begins bool) bool {
	n := s.n - 1 - s.part.First
	full := func(times int) bool { return n >= times*partEvents }
	switch kind {
	case KindConfigDelta, KindCompaction, KindUnknown, KindBroken, KindBrokenAside:
		begins = !s.passages.Open() // else the passage may go on behind it
	}
	return opens && full(1) || begins && len(s.calling) == 0 && full(2) || begins && full(8) || full(64)
}

func (s *Survey) count(e Sketch, i, turn int) {
	if e.Kind == KindConfigDelta {
		if names := s.names.Apply(e.Delta); names != s.names {
			s.names = names
			s.configs = append(s.configs, namesFrom{i + 1, names})
		}
	}
	call, paired := s.calls.Pass(e.Kind, e.ID, i, turn)
	switch e.Kind {
	case KindMessage, KindStructured:
		if m := s.names.Model; m != "" && !slices.Contains(s.models, m) && len(s.models) < mostTools {
			s.models = append(s.models, m)
		}
	case KindUnknown, KindBroken, KindBrokenAside:
		s.strange++
	case KindCompaction:
		s.compactions = append(s.compactions, uint32(i))
	case KindToolCall:
		tool := s.tool(e.Name)
		s.calling[i] = tool
		s.tools[tool].Calls++
		s.all.Calls++
		s.last.Calls++
	case KindToolResponse:
		if e.Annotated {
			s.annotated = append(s.annotated, uint32(i))
		}
		if !paired {
			s.all.Calls++
			s.last.Calls++
		}
		tool, known := s.calling[call]
		known = known && paired
		if known {
			delete(s.calling, call)
		}
		if paired && call < s.part.First {
			s.far = append(s.far, farPair{uint32(i), uint32(call)})
		}
		if e.Failed {
			s.all.Errors++
			s.last.Errors++
			if known {
				s.tools[tool].Errors++
			}
		}
		if e.Shown {
			s.shown.Calls++
			s.last.Shown++
			if e.Failed {
				s.shown.Errors++
				s.last.Failed++
			}
		}
	}
}

// tool returns the place of a tool. Where there are too many, the rest is one without a name.
func (s *Survey) tool(name string) int {
	i := slices.IndexFunc(s.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 && len(s.tools) >= mostTools {
		i = slices.IndexFunc(s.tools, func(t Tool) bool { return t.Name == "" })
		name = ""
	}
	if i < 0 {
		i = len(s.tools)
		s.tools = append(s.tools, Tool{Name: strings.Clone(name)})
	}
	return i
}

// Len is the number of events.
func (s *Survey) Len() int { return s.n }

// Turns is the number of turns.
func (s *Survey) Turns() int {
	if s.n == 0 {
		return 0
	}
	return len(s.turns) + 1
}

// Turn returns what is known of a turn.
func (s *Survey) Turn(i int) TurnFacts {
	if i < len(s.turns) {
		return s.turns[i]
	}
	return s.last
}

// TurnAt returns the turn that the event of an index is in.
func (s *Survey) TurnAt(index int) int {
	if uint32(index) >= s.last.First {
		return len(s.turns)
	}
	return max(sort.Search(len(s.turns), func(i int) bool { return int(s.turns[i].First) > index })-1, 0)
}

// Parts is the number of parts.
func (s *Survey) Parts() int { return len(s.parts) }

// Part returns a part, and the index of the event that it ends before.
func (s *Survey) Part(i int) (p Part, end int) {
	if i+1 < len(s.parts) {
		return s.parts[i], s.parts[i+1].First
	}
	return s.parts[i], s.n
}

// PartAt returns the part that the event of an index is in; the last one for what lies behind the
// end, -1 if there is none.
func (s *Survey) PartAt(index int) int {
	return sort.Search(len(s.parts), func(i int) bool { return s.parts[i].First > index }) - 1
}

// NamesAt returns who answers at the event of an index.
func (s *Survey) NamesAt(index int) Names {
	i := sort.Search(len(s.configs), func(i int) bool { return s.configs[i].index > index }) - 1
	return s.configs[max(i, 0)].names
}

// Names returns who answers after the last event.
func (s *Survey) Names() Names { return s.names }

// PerRequest says that each request opens a turn, because the log has no [TurnStart].
func (s *Survey) PerRequest() bool { return s.turn.PerRequest }

// SameTurns reports whether the first n events are in the turns that they were in when there were no
// more: as long as a log has no [TurnStart], each request opens a turn.
func (s *Survey) SameTurns(n int) bool {
	return s.first < 0 || s.first < n || s.second < 0 || s.second >= n
}

// CallOf returns the index of the call that a response answers which stands in an earlier part.
func (s *Survey) CallOf(response int) (call int, ok bool) {
	i := sort.Search(len(s.far), func(i int) bool { return int(s.far[i].response) >= response })
	if i < len(s.far) && int(s.far[i].response) == response {
		return int(s.far[i].call), true
	}
	return 0, false
}

// AnsweredFar yields the calls before an event that are answered from it on, each with its response,
// in the order of the responses.
func (s *Survey) AnsweredFar(index int, yield func(call, response int) bool) {
	i := sort.Search(len(s.far), func(i int) bool { return int(s.far[i].response) >= index })
	for _, p := range s.far[i:] {
		if int(p.call) < index && !yield(int(p.call), int(p.response)) {
			return
		}
	}
}

// Waiting returns the indexes of the calls of the open turn that have no response.
func (s *Survey) Waiting() []int { return s.calls.Waiting() }

// Compactions returns the indexes of the compactions; they must not be changed.
func (s *Survey) Compactions() []uint32 { return s.compactions }

// Annotated returns the indexes of the responses with a block that says whom it is for; they must not
// be changed.
func (s *Survey) Annotated() []uint32 { return s.annotated }

// Tools returns what is known of each tool, in the order of their first calls; of all together, and
// responses without a call; and of the responses that the user sees.
func (s *Survey) Tools() (each []Tool, all, shown Tool) { return s.tools, s.all, s.shown }

// Models returns those that answered, in the order in which they first did.
func (s *Survey) Models() []string { return s.models }

// Strange counts the events that are of no known kind, or do not have the form of theirs.
func (s *Survey) Strange() int { return s.strange }

// Span returns the first and the last time of an event; zero where none has any.
func (s *Survey) Span() (began, ended time.Time) {
	ended = s.ended
	if s.stamped > 0 {
		if t, ok := ParseTime(string(s.stamp[:s.stamped])); ok {
			ended = t
		}
	}
	return s.began, ended
}
