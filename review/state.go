package review

import "time"

// State is how far a bundle came.
type State string

// The states.
const (
	Queued    State = "queued"
	Claimed   State = "claimed"
	Delivered State = "delivered"
	Addressed State = "addressed"
	Failed    State = "failed"
	Canceled  State = "canceled"
)

// Ended reports whether nothing comes after the state.
func (s State) Ended() bool { return s == Addressed || s == Failed || s == Canceled }

// LeadsTo reports whether somebody's act can take a bundle from s to next. That a lease is over is
// nobody's act.
func (s State) LeadsTo(next State) bool {
	switch next {
	case Claimed:
		return s == Queued
	case Delivered:
		return s == Claimed
	case Addressed:
		return s == Delivered
	case Canceled:
		return s == Queued || s == Claimed
	case Failed:
		return s == Claimed || s == Delivered
	}
	return false
}

// At returns the bundle as it is at a time: one whose lease is over is queued, one that is not kept back any
// more has no Due. A lease far ahead, and a bundle that is yet to be sent, are of a clock that was set back:
// nothing waits for the old time.
func (d Dispatch) At(now time.Time) Dispatch {
	if !now.Before(d.Due) || now.Before(d.Sent) {
		d.Due = time.Time{}
	}
	if left := d.Lease.Sub(now); d.State == Claimed && (left <= 0 || left > 2*LeaseTime) {
		d.State, d.Lease = Queued, time.Time{}
	}
	return d
}

// move takes the bundle to a state, if there is a way.
func (d *Dispatch) move(next State, now time.Time) error {
	if !d.State.LeadsTo(next) {
		return &StateError{State: d.State}
	}
	d.State, d.Lease, d.Due = next, time.Time{}, time.Time{}
	switch next {
	case Claimed:
		d.Lease, d.Claimed = now.Add(LeaseTime), now
		d.Claims++
	case Delivered:
		d.Delivered = now
	default:
		d.Ended = now
	}
	return nil
}
