package jp

type watch struct{}

func (w *watch) init(l *Library) {}
func (w *watch) close()          {}
func (w *watch) wake(id string)  {}
