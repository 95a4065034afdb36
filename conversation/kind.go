package conversation

// Kind is what an event is, as far as its place among the others goes.
type Kind uint8

const (
	KindUnknown Kind = iota
	KindTurnStart
	KindRequest
	KindMessage
	KindReasoning
	KindStructured
	KindToolCall
	KindToolResponse
	KindInquiryRequest
	KindInquiryResponse
	KindConfigDelta
	KindCompaction
	// KindBroken is an event that cannot be read, KindBrokenAside one that would have been a change of
	// the configuration or a compaction.
	KindBroken
	KindBrokenAside
)

// KindOf returns the kind of what an event says.
func KindOf(b Body) Kind {
	switch b := b.(type) {
	case TurnStart:
		return KindTurnStart
	case Request:
		return KindRequest
	case Message:
		return KindMessage
	case Reasoning:
		return KindReasoning
	case Structured:
		return KindStructured
	case ToolCall:
		return KindToolCall
	case ToolResponse:
		return KindToolResponse
	case InquiryRequest:
		return KindInquiryRequest
	case InquiryResponse:
		return KindInquiryResponse
	case ConfigDelta:
		return KindConfigDelta
	case Compaction:
		return KindCompaction
	case Broken:
		if b.Type == "compaction" || b.Type == "config_delta" {
			return KindBrokenAside
		}
		return KindBroken
	}
	return KindUnknown
}

// Aside reports whether a passage may go on behind an event of a kind.
func (k Kind) Aside() bool {
	switch k {
	case KindConfigDelta, KindCompaction, KindUnknown, KindBrokenAside:
		return true
	}
	return false
}

// Passages tells passages apart as the events of a log pass, in order (R-1 … R-6). The zero value is
// ready; a copy remembers the place where it was made.
type Passages struct {
	open  Kind
	first int
}

// Next returns the index of the first event of the passage that an event of a kind belongs to, which
// is its own where it begins one, or has no text.
func (p *Passages) Next(kind Kind, index int) int {
	if kind.Aside() {
		return index
	}
	switch kind {
	case KindMessage, KindReasoning:
		if kind == p.open {
			return p.first
		}
	default:
		kind = KindUnknown
	}
	p.open, p.first = kind, index
	return index
}

// Open reports whether the next event may go on a passage.
func (p *Passages) Open() bool { return p.open != KindUnknown }
